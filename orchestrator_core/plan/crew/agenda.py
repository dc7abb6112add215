"""Agenda: which planners work when, and how they share the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator_core.plan.planner import Planner


@dataclass(frozen=True, slots=True)
class Phase:
    """Planners that take turns.

    Attributes:
        shares: (planner, its part of the phase's time); the parts need not add up to 1.
        until: the phase ends at this part of the budget's seconds, or when all of its planners
            have ended; a planner that is in the next phase too goes on there.
        rising: the phase goes on up to this part, as long as what is proven rises.
    """

    shares: tuple[tuple[Planner, float], ...]
    until: float = 1.0
    rising: float = 0.0

    def only(self, names: Sequence[str]) -> Phase:
        """The phase without planners of other names."""
        return Phase(tuple(s for s in self.shares if s[0].name in names), self.until, self.rising)


Agenda = tuple[Phase, ...]
