"""Which repair to take: the steadiest one that is nearly as good as the best (repair)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.repair.rest import Placement, Sends
from orchestrator_core.plan.repair.searching import PENALTY

GAIN = 0.01
"""Tasks leave their planned workers only if that saves this part of the makespan."""


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
        """What is minimised: deadlines first, then the makespan."""
        return self.makespan + PENALTY * self.late


def steadiest(options: Sequence[Option]) -> Option:
    """The first option, unless another one is better by more than `GAIN`: then the first that has
    most of what the best one gains."""
    kept = options[0]
    best = min(options, key=lambda option: option.value)
    if not kept.value - best.value > GAIN * kept.value:
        return kept if kept.value < float("inf") else best
    if kept.value == float("inf"):
        return best
    limit = best.value + 0.2 * (kept.value - best.value)
    return next(option for option in options if option.value <= limit)
