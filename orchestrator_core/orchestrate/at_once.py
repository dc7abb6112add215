"""Advice at once, and better advice later: for those whose tasks wait for an answer.

A list schedule and few simulations decide whether a plan is followed. What takes longer goes on
while it is followed already: a search, an order that delays hurt less, what is held back or sent
ahead, and how few bytes suffice. What that finds is remembered for the next run of the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.measures.measures import NONE
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.adopt import Verdict, judge
from orchestrator_core.orchestrate.expect import steadier, with_measures
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.refinements import Refinement, Refinements
from orchestrator_core.orchestrate.share import share_of
from orchestrator_core.orchestrate.thrifty import is_small, saving, thrifty
from orchestrator_core.plan.bounds import lower_bound
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.result import PlanResult

LIVELY, STEADY = 0.05, 0.15
"""Part of the remaining time that a change of the plan must save; and where it saves memory, which
no repair looks at."""


CHANCES, SIMULATED_TASKS = 3, 300
"""Runs of Dask's own policy that are simulated in each race, and tasks in all of them; one run at
least. Others wait for the answer."""

MUCH, COSTS = 0.3, 0.03
"""Part of the bytes that Dask would hold which a plan must save to be followed for that alone, and
part of Dask's time that it may cost."""

FRUGAL = "planned: it saves memory, and takes about as long as Dask's own order"


MORE, LARGE_GAIN = 0.25, 0.2
"""A plan that holds this part more bytes than Dask alone is followed only if it saves this part of
the time."""

HUNGRY = "left to Dask: the plan would hold far more bytes at once, and end hardly sooner"

THRIFTY = "makespan, few bytes"
"""Under what name plans that save memory are stored; no objective can have it."""


class Schedules(Protocol):
    """`Orchestrator.schedule`."""

    def __call__(
        self,
        instance: Instance,
        flow: str = "",
        *,
        budget: Budget | None = None,
        objective: Objective | None = None,
    ) -> tuple[PlanResult, str]: ...


class AtOnce:
    """Advice at once, and what was found later about graphs that are asked about again."""

    def __init__(self, schedule: Schedules, memory: Memory) -> None:
        self._schedule, self._memory = schedule, memory
        self._refinements = Refinements()

    def advice(
        self,
        instance: Instance,
        pessimistic: Instance,
        flow: str,
        min_gain: float,
        lessons: Lessons,
        begun: float,
    ) -> Advice:
        """The first good plan, with `Advice.refine` to better it; or the one found before.

        Args:
            pessimistic: `instance` with durations that are rarely exceeded.
            min_gain, lessons, begun: as in `answer`.
        """
        keys = Keys.of(instance.graph, instance.cluster)
        key = keys.priced(instance, MAKESPAN)
        known = self._refinements.find(key, instance) or self._recalled(instance, keys)
        if known is not None:
            advice = answer(instance, pessimistic, known, "hit", min_gain, lessons, begun)
            if self._refinements.is_current(key, instance):
                return advice
        else:
            result, cache = self._schedule(instance, flow, objective=MAKESPAN)
            plain = unrefined(result)
            advice = answer(instance, pessimistic, plain, cache, min_gain, lessons, begun)

        def refine() -> Advice:
            began = time.perf_counter()
            found = self._refined(instance, pessimistic, keys, flow)
            return answer(instance, pessimistic, found, "miss", min_gain, lessons, began)

        return replace(advice, refine=refine)

    def _refined(
        self, instance: Instance, pessimistic: Instance, keys: Keys, flow: str
    ) -> Refinement:
        """Found while the first plan is followed; remembered for the next time."""
        from orchestrator_core.orchestrate.schedules import keep

        limits = share_of(instance)

        def search() -> PlanResult:
            return self._schedule(instance, flow, budget=limits, objective=MAKESPAN)[0]

        found = refined(instance, pessimistic, search)
        self._refinements.keep(keys.priced(instance, MAKESPAN), instance, found)
        if found.saves >= MUCH:
            keep(self._memory, instance, found.result, keys, flow, under=THRIFTY)
        return found

    def _recalled(self, instance: Instance, keys: Keys) -> Refinement | None:
        """The plan of an earlier process that saves memory, if there is one; without its holds."""
        from orchestrator_core.orchestrate.schedules import recall

        result = recall(self._memory, instance, keys, MAKESPAN, under=THRIFTY)
        saves = 0.0 if result is None else saving(instance, result.schedule)
        if result is None or saves < MUCH:
            return None
        return Refinement(result, NONE, STEADY, saves, f"{saves:.0%} fewer bytes are held; ")


def answer(
    instance: Instance,
    pessimistic: Instance,
    found: Refinement,
    cache: str,
    min_gain: float,
    lessons: Lessons,
    begun: float,
) -> Advice:
    """What to do with the plan; `begun` is `time.perf_counter` when planning began."""
    result, measures = found.result, found.measures
    chances = max(1, min(CHANCES, SIMULATED_TASKS // max(1, instance.graph.n_instances)))
    verdict = judge(
        instance, pessimistic, result.schedule, min_gain, measures, lessons, chances=chances
    )
    proven = lower_bound(instance)
    frugal = not verdict.adopt and is_frugal(found, verdict)
    hungry = verdict.adopt and not found.saves and is_hungry(instance, result, verdict)
    adopted = (verdict.adopt or frugal) and not hungry
    reason = found.remark + (FRUGAL if frugal else HUNGRY if hungry else verdict.reason)
    record = PlanRecord(
        schedule=result.schedule,
        predicted=verdict.drawn.planned,
        lower_bound=proven.seconds,
        bound_method=proven.method,
        planner=result.planner,
        cache=cache,
        adopted=adopted,
        reason=reason,
        # Without a gain in time there is nothing to hold the forecast against.
        default_predicted=None if frugal else verdict.default_predicted,
        planning_seconds=time.perf_counter() - begun,
    )
    return Advice(
        record,
        reason,
        instance=instance,
        holds=measures.holds if adopted else {},
        prefetch=measures.prefetch and adopted,
        worth=found.worth,
    )


def is_frugal(found: Refinement, verdict: Verdict) -> bool:
    """Does the plan save so many bytes that it need not save time, too?"""
    races = (verdict.expected, verdict.drawn)
    return found.saves >= MUCH and all(race.planned <= (1 + COSTS) * race.default for race in races)


def is_hungry(instance: Instance, result: PlanResult, verdict: Verdict) -> bool:
    """Does the plan hold far more bytes than Dask alone would, for a small gain in time?"""
    if verdict.expected.gain >= LARGE_GAIN or is_small(instance, result.schedule):
        return False
    return saving(instance, result.schedule) < -MORE


def refined(
    instance: Instance, pessimistic: Instance, search: Callable[[], PlanResult]
) -> Refinement:
    """The best that can be found in a while.

    Args:
        search: plans with a larger budget.
    """
    result = steadier(instance, pessimistic, search())
    forecast = Forecast(instance, pessimistic, result, result.makespan, "miss")
    thrift = thrifty(forecast)
    if thrift is not None:
        return Refinement(thrift.result, thrift.measures, STEADY, thrift.saves, thrift.remark)
    measures, _ = with_measures(instance, pessimistic, result.schedule)
    return Refinement(result, measures, LIVELY)


def unrefined(result: PlanResult) -> Refinement:
    """The plan as it is."""
    return Refinement(result, NONE, LIVELY)
