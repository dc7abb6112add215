"""Judging: is a plan worth following, for the time that it saves or for the bytes?"""

from __future__ import annotations

import math

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.measures.admission import allowed
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.finding import Refinement
from orchestrator_core.orchestrate.judged import Basis, Judged, unsure
from orchestrator_core.orchestrate.thrifty import is_small, saving
from orchestrator_core.plan.result import PlanResult

CHANCES, SIMULATED_TASKS = 7, 3_000
"""Runs of Dask's own policy that are simulated in each race, and tasks in all of them; one run at
least. Others wait for the answer."""

MUCH, COSTS = 0.25, 0.03
"""Part of the bytes that Dask would hold which a plan must save to be followed for that alone, and
part of Dask's time that it may cost."""

FRUGAL = "planned: it saves memory, and takes about as long as Dask's own order"

HUNGRY = "left to Dask: the plan would hold far more bytes at once, and end hardly sooner"


def judged(
    instance: Instance,
    pessimistic: Instance,
    found: Refinement,
    min_gain: float,
    lessons: Lessons,
) -> Judged:
    """Is the plan to be followed?

    Args:
        pessimistic: `instance` with durations that are rarely exceeded.
        min_gain: part of Dask's time that it must save. lessons: what earlier runs really took.
    """
    basis = Basis.of(lessons, min_gain, unsure(instance, pessimistic))
    bound = found.result.lower_bound
    verdict = judge(
        instance,
        pessimistic,
        found.result.schedule,
        min_gain,
        found.measures,
        lessons,
        chances=max(1, min(CHANCES, SIMULATED_TASKS // max(1, instance.graph.n_instances))),
        bound=bound,
    )
    frugal = not verdict.adopt and is_frugal(found, verdict)
    predicted = max(verdict.drawn.planned, bound)
    hungry = verdict.adopt and not found.saves and is_hungry(instance, found.result, verdict)
    return Judged(
        adopt=(verdict.adopt or frugal) and not hungry,
        reason=found.remark + (FRUGAL if frugal else HUNGRY if hungry else verdict.told(predicted)),
        predicted=predicted,
        # Without a gain in time there is nothing to hold the forecast against.
        default_predicted=None if frugal else verdict.default_predicted,
        basis=basis,
    )


def is_frugal(found: Refinement, verdict: Verdict) -> bool:
    """Does the plan save so many bytes that it need not save time, too?"""
    races = (verdict.expected, verdict.drawn)
    return found.saves >= MUCH and all(race.planned <= (1 + COSTS) * race.default for race in races)


def is_hungry(instance: Instance, result: PlanResult, verdict: Verdict) -> bool:
    """Does the plan hold far more bytes than Dask alone would, for a small gain in time?"""
    gain = verdict.expected.gain
    if allowed(gain) == math.inf or is_small(instance, result.schedule):
        return False
    return 1.0 - saving(instance, result.schedule) > allowed(gain)
