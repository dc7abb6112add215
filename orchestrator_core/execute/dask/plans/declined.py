"""Declined: graphs that were not worth a plan; nobody waits for the same answer again.

They are asked about when their run is over, and planned the next time if the answer is another.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.execute.dask.graphs.runs import GraphRun

REMEMBERED, ADVICE = 1000, 16
"""Graphs that are remembered, and whole advice on them; of more, the first goes."""


class Declined:
    """Why graphs like these were left to Dask."""

    def __init__(self) -> None:
        self._reasons: OrderedDict[Hashable, str] = OrderedDict()
        self._advice: OrderedDict[Hashable, Advice] = OrderedDict()

    def get(self, run: GraphRun) -> str | None:
        """Why a graph like this run's was declined; None if none was."""
        return self._reasons.get(_likeness(run)) if self._reasons else None

    def advice(self, run: GraphRun) -> Advice | None:
        """The advice that was declined on a graph like this run's, if it is known yet."""
        return self._advice.get(_likeness(run))

    def add(self, run: GraphRun, reason: str, advice: Advice) -> None:
        """It was declined now, with this advice."""
        likeness = _likeness(run)
        _put(self._reasons, likeness, reason, REMEMBERED)
        _put(self._advice, likeness, replace(advice, refine=None), ADVICE)

    def forget(self, run: GraphRun) -> None:
        """It is to be asked about again."""
        self._reasons.pop(_likeness(run), None)


def _put(books: OrderedDict[Hashable, Any], likeness: Hashable, what: Any, most: int) -> None:
    books[likeness] = what
    books.move_to_end(likeness)
    if len(books) > most:
        books.popitem(last=False)


def _likeness(run: GraphRun) -> Hashable:
    """The same for graphs of as many tasks of each kind, with the same hints, on such workers, with
    as many stored inputs in the same places."""
    graph = run.snapshot
    tasks = frozenset(Counter(graph.prefixes).items())
    hints = _counted(graph.hints.values())
    workers = tuple(sorted(worker.kind for worker in run.cluster.workers))
    stored = frozenset(Counter(each.workers for each in graph.stored.values()).items())
    return tasks, sum(map(len, graph.inputs)), hints, workers, stored


def _counted(hints: Collection[Hint]) -> Hashable:
    """How often each hint is there; a layer's tasks share one, and reading it takes a while."""
    shared = {id(hint): hint for hint in hints}
    often: Counter[str] = Counter()
    for each, number in Counter(map(id, hints)).items():
        often[repr(shared[each])] += number
    return frozenset(often.items())
