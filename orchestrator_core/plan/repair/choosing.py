"""Which repair to take: the steadiest one that is nearly as good as the best (repair)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.repair.rest import Placement, Sends
from orchestrator_core.plan.repair.searching import PENALTY

GAIN = 0.01
"""Tasks leave their planned workers only if that saves this part of the makespan."""

ROUNDING = 1e-9
"""Part of the makespan by which a deadline may be exceeded, as in `check_schedule`."""


@dataclass(frozen=True, eq=False)
class Option:
    """A placement of the rest.

    Attributes:
        makespan: seconds; infinite if some task can run nowhere. late: seconds behind deadlines.
        order: of the waiting tasks. sends: the new transfers, where the kernel has made them.
        stays: is all where it was planned that still can run there?
    """

    placed: Placement
    makespan: float
    late: float
    order: Ints
    sends: Sends | None = None
    stays: bool = True

    @property
    def value(self) -> float:
        """Seconds; what is late counts many times."""
        return self.makespan + PENALTY * self.late

    @property
    def punctual(self) -> bool:
        """Are all deadlines kept, up to rounding?"""
        return self.makespan < math.inf and self.late <= ROUNDING * max(1.0, self.makespan)

    @property
    def rank(self) -> tuple[bool, float]:
        """What is minimised: first it counts whether all deadlines are kept, then the value. By its
        value alone a deadline would be missed by a second for a thousand of the makespan."""
        return not self.punctual, self.value


def worthwhile(one: Option, other: Option) -> bool:
    """Is the one worth leaving the other for: does it alone keep all deadlines, or is it better by
    more than `GAIN`?"""
    if one.punctual != other.punctual:
        return one.punctual
    if other.value == math.inf:
        return one.value < math.inf
    return other.value - one.value > GAIN * other.value


def steadiest(options: Sequence[Option]) -> Option:
    """The first option, unless another one is worth leaving it for: then the first that has most of
    what the best one gains, and keeps all deadlines if that one does."""
    kept = options[0]
    best = min(options, key=lambda option: option.rank)
    if not worthwhile(best, kept):
        return kept
    if kept.value == math.inf:
        return best
    limit = max(best.value, best.value + 0.2 * (kept.value - best.value))
    return next(o for o in options if o.rank <= (not best.punctual, limit))
