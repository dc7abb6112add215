"""The first answer of a process that has loaded no compiled code, which would take it seconds.

Small questions are answered by interpreted code, in tenths of a second: with the stored schedule at
today's prices or the best of a short search, judged by a few simulated runs. What a long search
would find beside that is less than its loading costs.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.measures.measures import NONE
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.decision import advised
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.schedules import Start, begun_from, keep, recall, recall_near
from orchestrator_core.plan.bounds import Bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.compiled import interpreting
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.plan.search.shaken import NAME as SHAKEN
from orchestrator_core.plan.search.shaken import shaken

MOST, MENDED = 600, 100
"""Tasks of a small question, and of one for which it is simulated that the plan will be mended:
interpreted, that takes seconds for a few hundred tasks, where all else takes a few tenths."""

PLANNER, BUDGET = "heft", Budget(seconds=0.01)
"""Who is asked, and for how long it may be proven how good that is."""

CHANCES = 2
"""Runs of Dask's own policy that are simulated in each race."""

Price = Callable[[float], Instance]
"""The question at a quantile of its durations."""


def first_answer(
    price: Price,
    quantile: float,
    memory: Memory,
    flow: str,
    min_gain: float,
    begun: float,
    lessons: Lessons,
) -> Advice:
    """What to do with a small graph, for the least makespan.

    Args:
        price: of the graph. quantile: of the durations at which the plan must still pay.
        memory: where schedules are stored, this one too.
        min_gain: part of Dask's time that it must save.
        begun: `time.perf_counter` when planning began.
        lessons: what Dask alone really took in earlier runs.

    Raises:
        OrchestratorError: if no plan is possible.
    """
    with interpreting():
        instance, pessimistic = price(0.5), price(quantile)
        result, cache = _schedule(instance, memory, flow)
        verdict = _verdict(instance, pessimistic, result, min_gain, lessons)
        expected = max(verdict.drawn.planned, result.lower_bound)
        forecast = Forecast(instance, pessimistic, result, expected, cache)
        bound = Bound(result.lower_bound, result.bound_method)
        return advised(forecast, verdict, bound, "", begun)


def _verdict(
    instance: Instance,
    pessimistic: Instance,
    result: PlanResult,
    min_gain: float,
    lessons: Lessons,
) -> Verdict:
    mends = instance.graph.n_instances <= MENDED
    return judge(
        instance,
        pessimistic,
        result.schedule,
        min_gain,
        measures=NONE,
        lessons=lessons,
        chances=CHANCES,
        mends=mends,
        bound=result.lower_bound,
    )


def _schedule(instance: Instance, memory: Memory, flow: str) -> tuple[PlanResult, str]:
    """The best that is at hand, and where it is from, as `Forecaster.schedule` says it."""
    keys = Keys.of(instance.graph, instance.cluster)
    stored = recall(memory, instance, keys, seconds=BUDGET.seconds)
    if stored is not None:
        return stored, "hit"
    near = recall_near(memory, instance, keys)
    result = _planned(instance, near)
    keep(memory, instance, result, keys, flow)
    return result, "miss" if near is None else "near"


def _planned(instance: Instance, near: Start | None) -> PlanResult:
    """The best of HEFT's, of a short search, and of what was stored for other costs."""
    starts = [] if near is None else [near]
    found = shaken(instance)
    if found is not None:
        starts.append(Start(found, SHAKEN, is_near=False))
    best = min(starts, key=lambda each: each.schedule.makespan, default=None)
    return begun_from(best, instance, BUDGET, (PLANNER,))[0]
