"""Advice at once, and better advice later: for those whose tasks wait for an answer.

A list schedule and few simulations decide whether a plan is followed. What takes longer goes on
when the run is over: a search, an order that delays hurt less, what is held back or sent ahead, and
how few bytes suffice. What that finds, and whether it is worth following, is remembered for the
next run of the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.measures.measures import NONE
from orchestrator_core.orchestrate.case import Case
from orchestrator_core.orchestrate.expect import steadier, with_measures
from orchestrator_core.orchestrate.finding import Finding, Refinement
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
from orchestrator_core.orchestrate.question import Question
from orchestrator_core.orchestrate.refinements import Refinements
from orchestrator_core.orchestrate.share import share_of
from orchestrator_core.orchestrate.thrifty import Thrift, thrifty
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.result import PlanResult

FEW = 2
"""Other plans that are tried for their bytes while somebody waits."""

SETTLED = 2.0
"""Seconds for which one waits, when a run is over, until it has been learned from."""


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
        self._refinements = Refinements(memory)

    def advice(self, instance: Instance, pessimistic: Instance, question: Question) -> Advice:
        """The first good plan, with `Advice.refine` to better it; or the one found before.

        Args:
            instance: what the question is about, priced.
            pessimistic: `instance` with durations that are rarely exceeded.
        """
        case, begun = Case(instance, pessimistic, question), question.begun
        keys = Keys.of(instance.graph, instance.cluster)
        bucket = keys.priced(instance, MAKESPAN).cost_bucket
        known = self._refinements.find(keys, instance)
        if known is None:
            result, cache = self._schedule(instance, question.flow, objective=MAKESPAN)
            first = case.best(quick(instance, result), bucket)
            return case.advice(first, cache, begun, lambda: self._refine(case, keys))
        if known.cost_bucket != bucket:
            again = case.judged(known.refinement, bucket)
            return case.advice(again, "hit", begun, lambda: self._refine(case, keys))
        found = self._up_to_date(case, keys, known)
        if found.refinement.saves and not found.judged.adopt:
            # What holds more bytes may still be worth following.
            return case.advice(found, "hit", begun, lambda: self._refine(case, keys))
        return case.advice(found, "hit", begun, lambda: self._reconsider(case, keys, found))

    def _refine(self, case: Case, keys: Keys) -> Advice:
        """Found when the run is over; remembered for the next time."""
        begun, instance, flow = time.perf_counter(), case.instance, case.question.flow
        limits = share_of(instance)

        def search() -> PlanResult:
            return self._schedule(instance, flow, budget=limits, objective=MAKESPAN)[0]

        refinements = refined(instance, case.pessimistic, search)
        self._memory.settle(SETTLED)
        bucket = keys.priced(instance, MAKESPAN).cost_bucket
        found = case.best(refinements, bucket)
        self._refinements.keep(keys, instance, found)
        return case.advice(found, "miss", begun)

    def _reconsider(self, case: Case, keys: Keys, found: Finding) -> Advice:
        """Judge again what is known if the run that is over has taught something."""
        begun = time.perf_counter()
        self._memory.settle(SETTLED)
        return case.advice(self._up_to_date(case, keys, found), "hit", begun)

    def _up_to_date(self, case: Case, keys: Keys, found: Finding) -> Finding:
        if found.judged.basis.resembles(case.basis):
            return found
        again = case.judged(found.refinement, found.cost_bucket)
        self._refinements.keep(keys, case.instance, again)
        return again


def refined(
    instance: Instance, pessimistic: Instance, search: Callable[[], PlanResult]
) -> Iterator[Refinement]:
    """The best that can be found in a while, after a plan that holds fewer bytes if there is one.

    Args:
        search: plans with a larger budget.
    """
    result = steadier(instance, pessimistic, search())
    forecast = Forecast(instance, pessimistic, result, result.makespan, "miss")
    yield from _saving(thrifty(forecast))
    measures, _ = with_measures(instance, pessimistic, result.schedule)
    yield Refinement(result, measures)


def quick(instance: Instance, result: PlanResult) -> Iterator[Refinement]:
    """One that holds fewer bytes, if that is soon found; the plan as it is."""
    yield from _saving(
        thrifty(Forecast(instance, instance, result, result.makespan, "miss"), most=FEW)
    )
    yield unrefined(result)


def unrefined(result: PlanResult) -> Refinement:
    """The plan as it is."""
    return Refinement(result, NONE)


def _saving(thrift: Thrift | None) -> Iterator[Refinement]:
    if thrift is not None:
        yield Refinement(thrift.result, thrift.measures, True, thrift.saves, thrift.remark)
