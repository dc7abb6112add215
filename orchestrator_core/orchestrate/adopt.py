"""Is a plan worth following? Only if it beats Dask's own policy when tasks run long."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate import simulate_default, simulate_placed
from orchestrator_core.plan.schedule import Schedule

SEEDS = 3
LARGE = 1_000
"""Orders of equal workers that are simulated; only one for graphs of more tasks than `LARGE`."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison behind a decision.

    Attributes:
        adopt: follow the plan?
        planned, default: simulated makespans at pessimistic durations, in seconds.
        default_predicted: simulated makespan of Dask's policy at expected durations, in seconds.
    """

    adopt: bool
    planned: float
    default: float
    default_predicted: float

    @property
    def reason(self) -> str:
        """One sentence for people."""
        figures = f"{self.planned:.3g} s against {self.default:.3g} s by Dask's own order"
        if self.adopt:
            return f"planned: even if tasks run long it takes {figures}"
        return f"left to Dask: if tasks run long the plan takes {figures}"


def judge(
    expected: Instance, pessimistic: Instance, schedule: Schedule, min_gain: float
) -> Verdict:
    """Compare the schedule with Dask's policy; both meet the pessimistic durations.

    Args:
        expected: what the plan was made for.
        pessimistic: the same graph and cluster with durations that are rarely exceeded.
        min_gain: fraction of the default's time that the plan must save, >= 0.
    """
    planned = simulate_placed(expected, schedule, pessimistic.seconds).makespan
    default = _default(pessimistic)
    return Verdict(
        adopt=planned <= default * (1.0 - min_gain),
        planned=planned,
        default=default,
        default_predicted=_default(expected),
    )


def _default(instance: Instance) -> float:
    """Dask takes equal workers in an order of its own: the median over several such orders."""
    seeds = range(SEEDS if instance.graph.n_instances <= LARGE else 1)
    return median(simulate_default(instance, seed=seed).makespan for seed in seeds)
