"""Declined: graphs that were not worth a plan; nobody waits for the same answer again.

They are asked about when their run is over, and planned the next time if the answer is another.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable

from orchestrator_core.execute.dask.graphs.runs import GraphRun

REMEMBERED = 1000
"""Graphs that are remembered; of more, the first goes."""


class Declined:
    """Why graphs like these were left to Dask."""

    def __init__(self) -> None:
        self._reasons: OrderedDict[Hashable, str] = OrderedDict()

    def get(self, run: GraphRun) -> str | None:
        """Why a graph like this run's was declined; None if none was."""
        return self._reasons.get(_likeness(run)) if self._reasons else None

    def add(self, run: GraphRun, reason: str) -> None:
        """It was declined now."""
        self._reasons[_likeness(run)] = reason
        if len(self._reasons) > REMEMBERED:
            self._reasons.popitem(last=False)

    def forget(self, run: GraphRun) -> None:
        """It is to be asked about again."""
        self._reasons.pop(_likeness(run), None)


def _likeness(run: GraphRun) -> Hashable:
    """The same for graphs of as many tasks of each kind, with the same wishes, on such workers."""
    graph = run.snapshot
    tasks = frozenset(Counter(graph.prefixes).items())
    workers = tuple(sorted(worker.kind for worker in run.cluster.workers))
    return tasks, sum(map(len, graph.inputs)), str(graph.wishes), workers
