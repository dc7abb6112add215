"""A plan at the pace of the code that submits its tasks: nothing starts before it went out.

Tasks keep their worker. By the second at which they could start they take the first thread that is
free, and what waits for them comes later too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import Burst
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.delayed import delayed_row, delayed_transfer
from orchestrator_core.plan.schedule import Assignment, Schedule

Part = tuple[Sequence[str], Burst]
"""The names of a burst's tasks, and when it goes out."""


@dataclass(frozen=True, slots=True)
class Paced:
    """Attributes:
    schedule: at that pace. out: when each part went out, in seconds.
    """

    schedule: Schedule
    out: tuple[float, ...]


def parts(names: Sequence[str], bursts: Sequence[Burst]) -> list[Part]:
    """The tasks of each burst."""
    found: list[Part] = []
    first = 0
    for burst in bursts:
        found.append((names[first : first + burst.size], burst))
        first += burst.size
    return found


def paced(
    schedule: Schedule, graph: TaskGraph, cluster: Cluster, coming: Sequence[Part] = ()
) -> Paced:
    """The schedule, no task of which starts sooner than it says.

    Args:
        graph: of all its tasks, each once in it.
        coming: in order; what is in none of them has gone out at second 0.
    """
    walk = _Walk(schedule, graph, cluster, coming)
    later = walk.later()
    if not any(later.values()):
        return Paced(schedule, tuple(walk.out))
    rows = [delayed_row(row, later[row.task]) for row in schedule.assignments]
    sent = [delayed_transfer(each, later[each.task]) for each in schedule.transfers]
    return Paced(Schedule(rows, sent), tuple(walk.out))


def least_in_pace(instance: Instance, coming: Sequence[Part]) -> float:
    """Seconds that no plan takes less than at this pace: each task on a worker of its own, in the
    least time that it takes anywhere."""
    graph = instance.graph
    alone = np.arange(len(graph))
    start, end = graph.release, graph.release + instance.best_seconds
    ideal = Schedule.from_columns(
        graph.names, graph.names, task=alone, worker=alone, start=start, end=end
    )
    return paced(ideal, graph, instance.cluster, coming).schedule.makespan


class _Walk:
    """Starts one task after the other."""

    def __init__(
        self, schedule: Schedule, graph: TaskGraph, cluster: Cluster, coming: Sequence[Part]
    ) -> None:
        self._rows = rows = {row.task: row for row in schedule.assignments}
        self._travels = {
            (sent.task, sent.destination): sent.end - rows[sent.task].end
            for sent in schedule.transfers
        }
        self._consumers = {name: _consumers(graph, name, rows) for name in rows}
        threads = {worker.name: worker.threads for worker in cluster.workers}
        self._free = {row.worker: [0.0] * threads.get(row.worker, 1) for row in rows.values()}
        self._missing: dict[str, int] = defaultdict(int)
        for consumers in self._consumers.values():
            for name in consumers:
                self._missing[name] += 1
        self._earliest: dict[str, float] = defaultdict(float)
        self._ready: list[tuple[float, float, str]] = []
        self._coming = [([name for name in names if name in rows], each) for names, each in coming]
        self._wait_for_parts()

    def _wait_for_parts(self) -> None:
        """A part waits for the one before it and for the ends of tasks; its tasks, for it."""
        self.out: list[float] = []
        self._lacks: list[int] = []
        self._ended: list[float] = [0.0] * len(self._coming)
        self._holds_up: dict[str, list[int]] = defaultdict(list)
        for place, (names, burst) in enumerate(self._coming):
            after = {name for name in burst.after if name in self._rows}
            self._lacks.append(len(after))
            for name in after:
                self._holds_up[name].append(place)
            for name in names:
                self._missing[name] += 1

    def later(self) -> dict[str, float]:
        """By how many seconds each task starts later than it was planned."""
        self._ready = [
            (row.start, row.start, name)
            for name, row in self._rows.items()
            if not self._missing[name]
        ]
        heapify(self._ready)
        self._go_out()
        later: dict[str, float] = {}
        while self._ready:
            _, _, name = heappop(self._ready)
            row = self._rows[name]
            start = max(row.start, self._free[row.worker][0], self._earliest[name])
            later[name], end = start - row.start, start - row.start + row.end
            heapreplace(self._free[row.worker], end)
            for consumer in self._consumers[name]:
                way = (name, self._rows[consumer].worker)
                self._met(consumer, end + self._travels.get(way, 0.0))
            for place in self._holds_up[name]:
                self._lacks[place] -= 1
                self._ended[place] = max(self._ended[place], end)
            self._go_out()
        return later

    def _go_out(self) -> None:
        """All parts that can."""
        while len(self.out) < len(self._coming) and not self._lacks[len(self.out)]:
            place = len(self.out)
            names, burst = self._coming[place]
            before = self.out[-1] if self.out else 0.0
            self.out.append(max(before, self._ended[place]) + burst.pause)
            for name in names:
                self._met(name, self.out[place])

    def _met(self, name: str, moment: float) -> None:
        """One thing that the task waits for is there."""
        self._earliest[name] = max(self._earliest[name], moment)
        self._missing[name] -= 1
        if not self._missing[name]:
            start = self._rows[name].start
            heappush(self._ready, (max(start, self._earliest[name]), start, name))


def _consumers(graph: TaskGraph, name: str, rows: Mapping[str, Assignment]) -> list[str]:
    """Those that were planned."""
    names = [graph.names[place] for place in graph.successors(graph.index[name]).tolist()]
    return [each for each in names if each in rows]
