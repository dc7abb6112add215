"""What a schedule will really take, when tasks run longer and shorter than expected.

The makespan of a schedule is what it takes if every task keeps to its duration. None does, and
delays add up while gains are lost in waiting, so a forecast is the mean over simulated runs with
durations drawn as widely as those of earlier runs were spread, in which the plan is mended as it
will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.measures.measures import NONE, Measures, choose_measures
from orchestrator_core.execute.simulate.draws import draws
from orchestrator_core.execute.simulate.mended import Mended
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.orchestrate.alike import are_alike
from orchestrator_core.plan.engine.compiled import is_interpreting
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.steady import chains_first

SAMPLES = 16
SIMULATED_TASKS = 20_000
"""Simulated runs, and task executions in all of them together; at least one run."""

INTERPRETED, MENDED = 2, 100
"""Runs where all is interpreted, and the tasks of which it is then simulated that the plan will be
mended: that takes seconds for a few hundred, where all else takes a few tenths."""

WORTH_IT = 0.01
"""Part of the expected time that another order must save, since it costs proven optimality."""


def expected_makespans(
    instance: Instance,
    pessimistic: Instance,
    schedules: Sequence[Schedule],
    measures: Measures = NONE,
    mends: bool = True,
) -> list[float]:
    """Mean makespan of each schedule over the same simulated runs, in seconds.

    Args:
        instance: with expected durations. pessimistic: with the 0.9 quantiles.
        measures: with which all of them are carried out.
        mends: are they changed on the way where that ends sooner?
    """
    n = max(1, instance.graph.n_instances)
    runs = INTERPRETED if is_interpreting() else max(1, min(SAMPLES, SIMULATED_TASKS // n))
    tables = draws(instance, pessimistic, runs)
    simulated = Mended if mends and not (is_interpreting() and n > MENDED) else Rehearsal
    rehearsals = [simulated(instance, schedule) for schedule in schedules]
    return [
        float(np.mean([each.makespan(t, measures.holds, measures.prefetch) for t in tables]))
        for each in rehearsals
    ]


def expected_makespan(
    instance: Instance, pessimistic: Instance, result: PlanResult, mends: bool = True
) -> float:
    """The mean for one plan, in seconds. So few simulated runs may come out below what is proven of
    every plan; that is chance.

    What keeps to a limit is not to be mended where that ends sooner (`mends`), nor is a plan for
    something else than the makespan: its repairs keep to its objective, which costs time.
    """
    by_time = Objective.of(result.objective).primary == MAKESPAN.primary
    schedules, mends = (result.schedule,), mends and by_time
    (expected,) = expected_makespans(instance, pessimistic, schedules, mends=mends)
    return max(expected, result.lower_bound) if by_time else expected


def with_measures(
    instance: Instance, pessimistic: Instance, schedule: Schedule
) -> tuple[Measures, float]:
    """The measures that are worth taking for the schedule, and its mean makespan with them.

    Args:
        instance: with expected durations. pessimistic: with the 0.9 quantiles.
    """
    measures = NONE if are_alike(instance) else choose_measures(instance, pessimistic, schedule)
    (expected,) = expected_makespans(instance, pessimistic, (schedule,), measures)
    return measures, expected


def steadier(instance: Instance, pessimistic: Instance, result: PlanResult) -> PlanResult:
    """The result, or the same placement in the order that delays hurt less, if that is expected
    to end sooner."""
    other = chains_first(instance, result.schedule)
    if other is None:
        return result
    planned, steady = expected_makespans(instance, pessimistic, (result.schedule, other))
    return replace(result, schedule=other) if steady < planned * (1 - WORTH_IT) else result
