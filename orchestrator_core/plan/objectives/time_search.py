"""TimeSearch: what counts in time, by the compiled searches, where price or memory counts as well.

Criteria in time that come first are searched for as if they were alone. Those that come after a
price are searched for where the price stays what it is: each task where it is cheapest if busy
threads are paid for, else on the worker that it has in the cheapest schedule so far.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.budget import seconds_left
from orchestrator_core.plan.checks.rows import resolve
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.judge import EQUAL, Judge
from orchestrator_core.plan.planner import Brief, Planner, Proposal
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.general_search import GeneralSearch
from orchestrator_core.plan.search.local_search import LocalSearch

TIMES = frozenset({"makespan", "tardiness"})
"""Criteria in time."""

PRICES = frozenset({"price", "busy-price"})
"""Criteria that can be kept while tasks trade places."""


@dataclass(frozen=True, slots=True)
class TimeSearch:
    """Betters an incumbent in the criteria that are times."""

    name: str = "time-search"
    lane: ClassVar[Lane] = Lane.SEARCH

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if _is_only_time(objective) or not _times_of(objective):
            return "the objective: it is for times beside prices or memory"
        return _search_for(instance, _times_of(objective))[1]

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        if brief.incumbent is None:
            yield Proposal(note="there was no schedule to begin with")
            return
        began = time.perf_counter()
        while True:
            stage = _Stage(
                brief, max(0.0, min(brief.budget.seconds, seconds_left(brief.budget, began)))
            )
            yield from stage.proposals()
            if not stage.is_over or brief.budget.iterations is not None:
                return


class _Stage:
    """A search among the schedules that are as good in what counts before the times.

    Attributes:
        is_over: has somebody found a schedule that is better in that?
    """

    def __init__(self, brief: Brief, seconds: float) -> None:
        assert brief.incumbent is not None
        times = _times_of(brief.objective)
        self.outer, self.is_over = brief, False
        self._judge = Judge(brief.instance, Objective(brief.objective.criteria[:1]))
        self._is_first = brief.objective.primary in TIMES
        self._incumbent, self._value = brief.incumbent, self._judge.value(brief.incumbent)
        instance = brief.instance if self._is_first else _narrowed(brief)
        self._search, self._refusal = _search_for(instance, times)
        self._brief = Brief(
            instance,
            replace(brief.budget, seconds=seconds),
            Objective(times),
            brief.incumbent,
            brief.lower_bound if self._is_first else 0.0,
        )

    def proposals(self) -> Iterator[Proposal]:
        """Until the search ends, or the stage is over."""
        if self._search is None:
            yield Proposal(note=self._refusal or "")
            return
        for proposal in self._search.plan(self._brief):
            yield Proposal(proposal.schedule, note=proposal.note)
            self._look()
            if self.is_over:
                return

    def _look(self) -> None:
        """At what others have found since."""
        incumbent = self.outer.incumbent
        if incumbent is None or incumbent is self._incumbent:
            return
        self._incumbent, value = incumbent, self._judge.value(incumbent)
        if self._is_first:
            self._brief.incumbent, self._brief.lower_bound = incumbent, self.outer.lower_bound
        elif value[0] < self._value[0] * (1 - EQUAL):
            self.is_over = True


def _is_only_time(objective: Objective) -> bool:
    return TIMES.issuperset(objective.criteria)


def _times_of(objective: Objective) -> tuple[str, ...]:
    """The times that count first, or all of those that count after a price."""
    criteria = objective.criteria
    if objective.primary in TIMES:
        return tuple(takewhile(TIMES.__contains__, criteria))
    if objective.primary in PRICES:
        return tuple(each for each in criteria if each in TIMES)
    return ()


def _search_for(instance: Instance, times: tuple[str, ...]) -> tuple[Planner | None, str | None]:
    """The search that takes it, else why none does."""
    why: str | None = None
    for search in (LocalSearch(), GeneralSearch()):
        why = search.unsupported(instance, Objective(times))
        if why is None:
            return search, None
    return None, why


def _narrowed(brief: Brief) -> Instance:
    """The instance in which tasks run only where the price stays what it is."""
    assert brief.incumbent is not None
    instance, seconds = brief.instance, brief.instance.seconds
    stays = _own(instance, brief.incumbent)
    if brief.objective.primary == "busy-price":
        stays |= _cheapest(instance)
    return Instance(instance.graph, instance.cluster, np.where(stays, seconds, np.inf))


def _own(instance: Instance, schedule: Schedule) -> np.ndarray:
    """(m, w) the places of a schedule."""
    rows = resolve(instance, schedule)
    made = np.zeros(instance.seconds.shape, dtype=bool)
    made[rows.mode, rows.worker] = True
    return made


def _cheapest(instance: Instance) -> np.ndarray:
    """(m, w) where a task costs least while it runs."""
    workers, graph = instance.cluster.workers, instance.graph
    rate = np.array([worker.price / worker.threads for worker in workers])
    seconds = np.where(instance.eligible, instance.seconds, 0.0)
    cost = np.where(instance.eligible, graph.mode_threads[:, None] * seconds * rate, np.inf)
    least = np.minimum.reduceat(cost.min(axis=1), graph.mode_ptr[:-1])[graph.mode_task]
    return np.asarray(cost <= least[:, None] * (1 + EQUAL))
