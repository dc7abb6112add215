"""Timeline: the plan of one run in order of its starts, a piece at a time."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np

from orchestrator_core.execute.dask.watch.run_view import RunView
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.schedule import Schedule


class PlannedRow(NamedTuple):
    """Where and when a task is to run; seconds from the start of the run."""

    key: str
    kind: str
    worker: str
    start: float
    end: float


class Timeline:
    """What is planned, or for tasks that have begun, what was planned when they began.

    A plan that was mended tells of the past as it was; to see how reality differs, one wants to see
    what had been expected.
    """

    def __init__(
        self,
        schedule: Schedule,
        now: float,
        before: Timeline | None = None,
        stored: Set[str] = frozenset(),
    ) -> None:
        """The schedule in force since `now` (seconds from the start), `before` it another one;
        `stored` as of `RunView`, of which nothing is to be seen."""
        self.schedule = schedule
        self.version: int = 1 if before is None else before.version + 1
        names = [schedule.task_names[i] for i in schedule.task.tolist()]
        workers = [schedule.worker_names[i] for i in schedule.worker.tolist()]
        starts, ends = schedule.start.tolist(), schedule.end.tolist()
        spans = zip(names, zip(workers, starts, ends, strict=True), strict=True)
        self._spans = {name: span for name, span in spans if name not in stored}
        if before is not None:
            for name in (name for name, span in self._spans.items() if span[1] <= now):
                self._spans[name] = before._spans.get(name, self._spans[name])
        self._names = list(self._spans)
        self._order: Ints = np.argsort([s[1] for s in self._spans.values()], kind="stable")

    def __len__(self) -> int:
        return len(self._spans)

    def rows(self, view: RunView, first: int, limit: int) -> list[PlannedRow]:
        """At most `limit` rows in order of their starts, beginning with number `first`."""
        chosen = self._order[first : first + limit].tolist()
        return [self._row(view, self._names[i]) for i in chosen]

    def row(self, view: RunView, key: Key) -> PlannedRow | None:
        """The row of the task of that key; None if it is not planned."""
        label = view.label(key)
        return self._row(view, label[0]) if label is not None and label[0] in self._spans else None

    def _row(self, view: RunView, name: str) -> PlannedRow:
        """Known by its name where it has no key, as where the plan speaks of another graph."""
        key = view.find(name)
        label = None if key is None else view.label(key)
        told = (name, "") if label is None else (str(key), label[1])
        return PlannedRow(*told, *self._spans[name])
