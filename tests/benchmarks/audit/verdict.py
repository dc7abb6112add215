"""Verdict: what an exact optimum says of a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tests.benchmarks.audit.near import is_near


@dataclass
class Verdict:
    """Attributes:
    outcome: ``planned``, ``infeasible``, ``not found`` (there is a schedule, the planners have
        none), or ``oracle gave up``.
    violations: what is wrong.
    value, optimum: of the first criterion; None if there is no plan or no optimum.
    is_proven: is the plan said to be optimal? is_certified: has its certificate been verified?
    """

    seed: int
    source: str
    objective: str
    constraints: list[str]
    outcome: str = "planned"
    violations: list[str] = field(default_factory=list)
    value: float | None = None
    optimum: float | None = None
    is_proven: bool = False
    is_certified: bool = False

    @property
    def gap(self) -> float | None:
        """Relative; infinite above an optimum of zero. None if there is no plan or no optimum."""
        if self.value is None or self.optimum is None:
            return None
        if is_near(self.value, self.optimum):
            return 0.0
        return self.value / self.optimum - 1 if self.optimum > 0 else math.inf
