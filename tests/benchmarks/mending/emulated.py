"""Emulated: a run on workers of one thread that follows a course, event by event."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Correction, Course, Execution, Sight
from orchestrator_core.execute.mending_rules import PAUSE
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.schedule import Schedule

FIRST_LOOK, LAG = 0.1, 0.03
"""Seconds until the first look, and from a look to when its answer takes effect."""


class Emulated:
    """The run; times in seconds from its start.

    A task is sent when its inputs are there, fetches what its worker lacks, all at once, and begins
    by the order of the plan. What was sent and has not begun may still go elsewhere.

    Attributes:
        makespan: when the last task ended. moves: how many tasks went elsewhere.
    """

    def __init__(
        self, believed: Instance, schedule: Schedule, seconds: Floats, budget: Budget | None
    ) -> None:
        """`seconds`: (modes, workers) what tasks really take. `budget`: of each repair's search."""
        graph = believed.graph
        self.instance, self._seconds, self._budget = believed, seconds, budget
        self.makespan, self.moves = 0.0, 0
        self._course = Course(believed, schedule)
        self._inputs: list[list[tuple[int, float]]] = [[] for _ in graph.names]
        self._consumers: list[list[int]] = [[] for _ in graph.names]
        ends = zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True)
        for (producer, consumer), nbytes in zip(ends, graph.nbytes.tolist(), strict=True):
            self._inputs[consumer].append((producer, nbytes))
            self._consumers[producer].append(consumer)
        self._open = [len(each) for each in self._inputs]
        self._ended: dict[int, tuple[int, float, float]] = {}
        self._holders: list[set[int]] = [set() for _ in graph.names]
        self._sent: dict[int, tuple[int, float]] = {}
        self._ready: dict[int, float] = {}
        self._running: dict[int, tuple[int, float]] = {}
        self._coming: dict[tuple[int, int], float] = {}
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = 0
        self._follow(schedule)

    def run(self) -> None:
        """To the end."""
        for task, left in enumerate(self._open):
            if not left:
                self._send(task, 0.0)
        self._at(FIRST_LOOK, self._look)
        while self._events:
            now, _, happen = heapq.heappop(self._events)
            happen(now)
        self.makespan = max(end for _, _, end in self._ended.values())

    def _at(self, moment: float, happen: Callable[[float], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (moment, self._number, happen))

    def _follow(self, schedule: Schedule) -> None:
        index, workers = self.instance.graph.index, self.instance.cluster.index
        order = np.argsort(schedule.start, kind="stable").tolist()
        tasks = [index[schedule.task_names[schedule.task[row]]] for row in order]
        places = [workers[schedule.worker_names[schedule.worker[row]]] for row in order]
        self._planned = dict(zip(tasks, places, strict=True))
        self._rank = {task: rank for rank, task in enumerate(tasks)}

    def _send(self, task: int, now: float) -> None:
        worker, ready = self._planned[task], now
        self._sent[task] = (worker, now)
        for producer, nbytes in self._inputs[task]:
            if worker not in self._holders[producer]:
                ready = max(ready, self._fetched(producer, worker, nbytes, now))
        self._ready[task] = ready
        self._at(ready, lambda moment: self._begin(worker, moment))

    def _fetched(self, producer: int, worker: int, nbytes: float, now: float) -> float:
        """When the output will be there."""
        if (producer, worker) not in self._coming:
            cluster, source = self.instance.cluster, self._ended[producer][0]
            way = (
                cluster.latency[source, worker] + nbytes * cluster.seconds_per_byte[source, worker]
            )
            self._coming[producer, worker] = now + float(way)
            self._at(now + float(way), lambda _: self._holders[producer].add(worker))
        return self._coming[producer, worker]

    def _begin(self, worker: int, now: float) -> None:
        if worker in self._running:
            return
        at_hand = [t for t, (w, _) in self._sent.items() if w == worker and self._ready[t] <= now]
        if at_hand:
            task = min(at_hand, key=self._rank.__getitem__)
            del self._sent[task]
            self._running[worker] = (task, now)
            mode = self.instance.graph.mode_ptr[task]
            self._at(now + float(self._seconds[mode, worker]), lambda t: self._end(worker, t))

    def _end(self, worker: int, now: float) -> None:
        task, since = self._running.pop(worker)
        self._ended[task] = (worker, since, now)
        self._holders[task].add(worker)
        for consumer in self._consumers[task]:
            self._open[consumer] -= 1
            if not self._open[consumer]:
                self._send(consumer, now)
        self._begin(worker, now)

    def _look(self, now: float) -> None:
        if len(self._ended) == len(self._open):
            return
        correction = self._course.correct(self._sight(now), self._budget)
        if correction.pays:
            self._at(now + LAG, lambda moment: self._apply(correction, moment))
        self._at(now + PAUSE, self._look)

    def _sight(self, now: float) -> Sight:
        names, workers = self.instance.graph.names, self.instance.cluster.names
        running = {task: (worker, since) for worker, (task, since) in self._running.items()}
        sent = {**self._sent, **running}
        return Sight(
            now=now,
            cluster=self.instance.cluster,
            finished={
                names[t]: Execution(workers[w], s, e) for t, (w, s, e) in self._ended.items()
            },
            sent={names[task]: (workers[w], since) for task, (w, since) in sent.items()},
            executing={names[task]: since for task, (_, since) in running.items()},
            copies={
                names[task]: tuple(workers[w] for w in sorted(self._holders[task]))
                for task in self._ended
                if len(self._holders[task]) > 1
            },
        )

    def _apply(self, correction: Correction, now: float) -> None:
        self.moves += correction.moves
        self._course.follow(correction.schedule)
        self._follow(correction.schedule)
        for task, (worker, _) in list(self._sent.items()):
            if worker != self._planned[task]:
                self._send(task, now)
        for worker in range(len(self.instance.cluster)):
            self._begin(worker, now)
