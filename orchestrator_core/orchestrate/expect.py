"""What a schedule will really take, when tasks run longer and shorter than expected.

The makespan of a schedule is what it takes if every task keeps to its duration. None does, and
delays add up while gains are lost in waiting, so a forecast is the mean over simulated runs with
durations drawn as widely as those of earlier runs were spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate import simulate_placed
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.steady import chains_first

SAMPLES = 16
SIMULATED_TASKS = 20_000
"""Simulated runs, and task executions in all of them together; at least one run."""

WORTH_IT = 0.01
"""Part of the expected time that another order must save, since it costs proven optimality."""

DEVIATIONS_TO_P90 = 1.2816
"""Standard deviations between the median and the 0.9 quantile of a normal distribution."""


def expected_makespans(
    instance: Instance, pessimistic: Instance, schedules: Sequence[Schedule]
) -> list[float]:
    """Mean makespan of each schedule over the same simulated runs, in seconds.

    Args:
        instance: with expected durations. pessimistic: with the 0.9 quantiles.
    """
    n = instance.graph.n_instances
    runs = max(1, min(SAMPLES, SIMULATED_TASKS // max(1, n)))
    generator = np.random.default_rng(0)
    spread = _log_spread(instance, pessimistic)
    totals = np.zeros(len(schedules))
    for _ in range(runs):
        noise = np.exp(spread * generator.standard_normal((len(spread), 1)))
        drawn = instance.seconds * noise
        totals += [simulate_placed(instance, each, drawn).makespan for each in schedules]
    means: list[float] = (totals / runs).tolist()
    return means


def steadier(instance: Instance, pessimistic: Instance, result: PlanResult) -> PlanResult:
    """The result, or the same placement in the order that delays hurt less, if that is expected
    to end sooner."""
    other = chains_first(instance, result.schedule)
    if other is None:
        return result
    planned, steady = expected_makespans(instance, pessimistic, (result.schedule, other))
    return replace(result, schedule=other) if steady < planned * (1 - WORTH_IT) else result


def _log_spread(instance: Instance, pessimistic: Instance) -> np.ndarray:
    """(modes, workers) standard deviation of the logarithm of each duration."""
    may_run = instance.eligible & pessimistic.eligible & (instance.seconds > 0)
    ratio = np.ones_like(instance.seconds)
    np.divide(pessimistic.seconds, instance.seconds, out=ratio, where=may_run)
    spread: np.ndarray = np.log(np.maximum(ratio, 1.0)) / DEVIATIONS_TO_P90
    return spread
