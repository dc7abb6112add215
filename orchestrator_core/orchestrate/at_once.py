"""Advice at once, and better advice later: for those whose tasks wait for an answer.

A list schedule and few simulations decide whether a plan is followed. What takes longer goes on
when the run is over: a search, an order that delays hurt less, what is held back or sent ahead, and
how few bytes suffice. What that finds, and whether it is worth following, is remembered for the
next run of the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.measures.measures import NONE
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.orchestrate.expect import steadier, with_measures
from orchestrator_core.orchestrate.experience import Lessons
from orchestrator_core.orchestrate.finding import Finding, Refinement
from orchestrator_core.orchestrate.forecast import Forecast
from orchestrator_core.orchestrate.judged import Basis, unsure
from orchestrator_core.orchestrate.judging import judged
from orchestrator_core.orchestrate.keys import Keys
from orchestrator_core.orchestrate.memory import Memory
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
            min_gain: part of Dask's time that it must save. lessons: what earlier runs really took.
            begun: `time.perf_counter` when planning began.
        """
        question = Question(instance, pessimistic, flow, min_gain, lessons)
        keys = Keys.of(instance.graph, instance.cluster)
        bucket = keys.priced(instance, MAKESPAN).cost_bucket
        known = self._refinements.find(keys, instance)
        if known is None:
            result, cache = self._schedule(instance, flow, objective=MAKESPAN)
            first = question.best(quick(instance, result), bucket)
            return question.advice(first, cache, begun, lambda: self._refine(question, keys))
        if known.cost_bucket != bucket:
            again = question.judged(known.refinement, bucket)
            return question.advice(again, "hit", begun, lambda: self._refine(question, keys))
        found = self._up_to_date(question, keys, known)
        if found.refinement.saves and not found.judged.adopt:
            # What holds more bytes may still be worth following.
            return question.advice(found, "hit", begun, lambda: self._refine(question, keys))
        return question.advice(found, "hit", begun, lambda: self._reconsider(question, keys, found))

    def _refine(self, question: Question, keys: Keys) -> Advice:
        """Found when the run is over; remembered for the next time."""
        begun, instance = time.perf_counter(), question.instance
        limits = share_of(instance)

        def search() -> PlanResult:
            return self._schedule(instance, question.flow, budget=limits, objective=MAKESPAN)[0]

        refinements = refined(instance, question.pessimistic, search)
        self._memory.settle(SETTLED)
        bucket = keys.priced(instance, MAKESPAN).cost_bucket
        found = question.best(refinements, bucket)
        self._refinements.keep(keys, instance, found)
        return question.advice(found, "miss", begun)

    def _reconsider(self, question: Question, keys: Keys, found: Finding) -> Advice:
        """Judge again what is known if the run that is over has taught something."""
        begun = time.perf_counter()
        self._memory.settle(SETTLED)
        return question.advice(self._up_to_date(question, keys, found), "hit", begun)

    def _up_to_date(self, question: Question, keys: Keys, found: Finding) -> Finding:
        if found.judged.basis.resembles(question.basis):
            return found
        again = question.judged(found.refinement, found.cost_bucket)
        self._refinements.keep(keys, question.instance, again)
        return again


class Question:
    """What is asked about a graph; arguments as of `AtOnce.advice`."""

    def __init__(
        self,
        instance: Instance,
        pessimistic: Instance,
        flow: str,
        min_gain: float,
        lessons: Lessons,
    ) -> None:
        self.instance, self.pessimistic, self.flow = instance, pessimistic, flow
        self.min_gain, self.lessons = min_gain, lessons

    @property
    def basis(self) -> Basis:
        """What a judgement would be based on now; lessons go on."""
        return Basis.of(self.lessons, self.min_gain, unsure(self.instance, self.pessimistic))

    def best(self, refinements: Iterable[Refinement], bucket: str) -> Finding:
        """The first that is worth following; the last if none is. There is at least one."""
        for refinement in refinements:
            found = self.judged(refinement, bucket)
            if found.judged.adopt:
                break
        return found

    def judged(self, refinement: Refinement, bucket: str) -> Finding:
        instance, pessimistic = self.instance, self.pessimistic
        found = judged(instance, pessimistic, refinement, self.min_gain, self.lessons)
        return Finding(refinement, bucket, found)

    def advice(
        self,
        found: Finding,
        cache: str,
        begun: float,
        refine: Callable[[], Advice] | None = None,
    ) -> Advice:
        return replace(answer(self.instance, found, cache, begun), refine=refine)


def answer(instance: Instance, found: Finding, cache: str, begun: float) -> Advice:
    """What to do with the plan; `begun` is `time.perf_counter` when planning began."""
    decided, result, measures = found.judged, found.refinement.result, found.refinement.measures
    record = PlanRecord(
        schedule=result.schedule,
        predicted=decided.predicted,
        lower_bound=result.lower_bound,
        bound_method=result.bound_method,
        planner=result.planner,
        cache=cache,
        adopted=decided.adopt,
        reason=decided.reason,
        default_predicted=decided.default_predicted,
        planning_seconds=time.perf_counter() - begun,
    )
    return Advice(
        record,
        decided.reason,
        instance=instance,
        holds=measures.holds if decided.adopt else {},
        prefetch=measures.prefetch and decided.adopt,
        thrifty=found.refinement.thrifty,
    )


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
