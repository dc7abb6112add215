"""Is a plan worth following that minimises something else than the makespan, or has deadlines?

As `adopt` does it: the plan and Dask's own policy meet the same durations, those that are rarely
exceeded, and the plan must save a part of what the first criterion costs in which they differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate import simulate_default, simulate_placed
from orchestrator_core.orchestrate.adopt import NO_LESSONS
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.saving import saves
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Schedule

SEEDS = 3
LARGE = 1_000
"""Orders of equal workers that are simulated; only one for graphs of more tasks than `LARGE`."""


@dataclass(frozen=True, slots=True)
class Worth:
    """The comparison behind a decision.

    Attributes:
        adopt: follow the plan?
        objective: its criteria, the most important first.
        planned, default: the simulated value of each criterion at pessimistic durations.
        criterion: position of the one that decided.
        default_predicted: seconds that Dask alone will take.
    """

    adopt: bool
    objective: Objective
    planned: tuple[float, ...]
    default: tuple[float, ...]
    criterion: int
    default_predicted: float
    holds: Mapping[str, Hold] = field(default_factory=dict)
    prefetch: bool = False

    @property
    def reason(self) -> str:
        """One sentence for people."""
        name, at = self.objective.criteria[self.criterion], self.criterion
        figures = f"{self.planned[at]:.3g} against {self.default[at]:.3g} by Dask's own order"
        if self.adopt:
            return f"planned: even if tasks run long its {name} is {figures}"
        return f"left to Dask: if tasks run long the plan's {name} is {figures}"

    def told(self, predicted: float) -> str:
        """The reason; it speaks of other figures than the seconds that are predicted."""
        return self.reason


def worth(
    expected: Instance,
    pessimistic: Instance,
    schedule: Schedule,
    objective: Objective,
    min_gain: float,
    lessons: Lessons = NO_LESSONS,
) -> Worth:
    """Compare the schedule with Dask's policy under the objective.

    Args:
        expected: what the plan was made for. pessimistic: the same graph and cluster with
            durations that are rarely exceeded, and due dates for deadlines.
        min_gain: part that the plan must save, >= 0.
        lessons: what Dask alone really took in earlier runs.
    """
    placed = simulate_placed(expected, schedule, pessimistic.seconds)
    planned = evaluate(pessimistic, placed, objective)
    default = _default(pessimistic, objective)
    adopt, criterion = saves(planned, default, min_gain)
    (takes,) = _default(expected, MAKESPAN)
    return Worth(adopt, objective, planned, default, criterion, lessons.default(takes))


def _default(instance: Instance, objective: Objective) -> tuple[float, ...]:
    """The mean over several orders in which Dask may take equal workers (decision 0030)."""
    seeds = range(SEEDS if instance.graph.n_instances <= LARGE else 1)
    values = [evaluate(instance, simulate_default(instance, seed=s), objective) for s in seeds]
    return tuple(fmean(of_one) for of_one in zip(*values, strict=True))
