"""How hard a command is to plan."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.plan.budget import Budget

DEFAULT_SECONDS = 2.0
"""Budget of a plan, where none was asked for."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to plan: seconds, seed, and by whom. If none is stated, what is stored will do."""

    seconds: float | None = None
    seed: int | None = None
    planners: tuple[str, ...] = ()

    @property
    def budget(self) -> Budget:
        return Budget(DEFAULT_SECONDS if self.seconds is None else self.seconds, self.seed or 0)

    @property
    def is_stated(self) -> bool:
        return self.seconds is not None or self.seed is not None or bool(self.planners)
