"""Emulated: a run on workers of one thread that follows a course, event by event.

A `Follower` says what goes where and when, as in a scheduler.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from orchestrator_core.execute.directives import Directive, Hold, Move, Place, Slot
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.live import Correction, Course, Execution, Sight
from orchestrator_core.execute.mending_rules import PAUSE
from orchestrator_core.execute.stage import HELD
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.schedule import Schedule
from tests.benchmarks.mending.bytes_held import BytesHeld

FIRST_LOOK, LAG = 0.1, 0.03
"""Seconds until the first look, and from a look to when its answer takes effect."""


class Emulated:
    """The run; times in seconds from its start.

    A task is sent when its inputs are there and nothing holds it, fetches what its worker lacks,
    all at once, and begins by the order of the plan. What was sent and has not begun may still go
    elsewhere.

    Attributes:
        makespan: when the last task ended. moves: how many tasks went elsewhere.
        peak: the most bytes of outputs and copies that all workers held at one moment.
    """

    def __init__(
        self,
        course: Course,
        seconds: Floats,
        budget: Budget | None,
        holds: Mapping[str, Hold] | None = None,
    ) -> None:
        """`seconds`: (modes, workers) what tasks really take. `budget`: of each repair's search."""
        self.instance, self._seconds, self._budget = course.instance, seconds, budget
        graph = self.instance.graph
        self.makespan, self.moves = 0.0, 0
        self._course, self._follower = course, Follower()
        self._inputs: list[list[tuple[int, float]]] = [[] for _ in graph.names]
        self._consumers: list[list[int]] = [[] for _ in graph.names]
        ends = zip(graph.producer.tolist(), graph.consumer.tolist(), strict=True)
        for (producer, consumer), nbytes in zip(ends, graph.nbytes.tolist(), strict=True):
            self._inputs[consumer].append((producer, nbytes))
            self._consumers[producer].append(consumer)
        self._bytes = BytesHeld(graph.output_bytes.tolist(), [len(c) for c in self._consumers])
        self._open = [len(each) for each in self._inputs]
        self._ended: dict[int, tuple[int, float, float]] = {}
        self._holders: list[set[int]] = [set() for _ in graph.names]
        self._sent: dict[int, tuple[int, float]] = {}
        self._ready: dict[int, float] = {}
        self._running: dict[int, tuple[int, float]] = {}
        self._coming: dict[tuple[int, int], float] = {}
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = 0
        self._follower.planned(self._slots(course.schedule), holds)

    @property
    def peak(self) -> float:
        return self._bytes.peak

    def run(self) -> None:
        """To the end."""
        for task, left in enumerate(self._open):
            if not left:
                self._decide(task, 0.0)
        self._at(FIRST_LOOK, self._look)
        while self._events:
            now, _, happen = heapq.heappop(self._events)
            happen(now)
        self.makespan = max(end for _, _, end in self._ended.values())

    def _at(self, moment: float, happen: Callable[[float], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (moment, self._number, happen))

    def _slots(self, schedule: Schedule) -> dict[object, Slot]:
        """Of what has not ended."""
        names, index = schedule.task_names, self.instance.graph.index
        rows = enumerate(np.argsort(schedule.start, kind="stable").tolist())
        slots = {
            names[schedule.task[row]]: Slot(schedule.worker_names[schedule.worker[row]], rank)
            for rank, row in rows
        }
        return {name: slot for name, slot in slots.items() if index[name] not in self._ended}

    def _decide(self, task: int, now: float) -> None:
        """The task is ready: it is sent to its worker, or held back."""
        cluster, name = self.instance.cluster, self.instance.graph.names[task]
        where = self._follower.decide(name, cluster.index, now)
        if where is HELD:
            self._at(self._follower.held[name], self._let_go)
        elif isinstance(where, str):
            self._send(task, cluster.index[where], now)
            self._carry(self._follower.sent(name), now)

    def _let_go(self, now: float) -> None:
        self._carry(self._follower.waited(now), now)

    def _carry(self, directives: Iterable[Directive], now: float) -> None:
        index, workers = self.instance.graph.index, self.instance.cluster.index
        for each in directives:
            if isinstance(each, Place):
                task = index[str(each.key)]
                if not self._open[task] and task not in self._sent:
                    self._decide(task, now)
            elif isinstance(each, Move) and index[str(each.key)] in self._sent:
                self._send(index[str(each.key)], workers[each.slot.worker], now)

    def _send(self, task: int, worker: int, now: float) -> None:
        ready = now
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
            self._at(now + float(way), lambda _: self._hold(producer, worker))
        return self._coming[producer, worker]

    def _hold(self, task: int, worker: int) -> None:
        if worker not in self._holders[task]:
            self._holders[task].add(worker)
            self._bytes.hold(task)

    def _rank(self, task: int) -> int:
        slot = self._follower.slot(self.instance.graph.names[task])
        return 0 if slot is None else slot.rank

    def _begin(self, worker: int, now: float) -> None:
        if worker in self._running:
            return
        at_hand = [t for t, (w, _) in self._sent.items() if w == worker and self._ready[t] <= now]
        if at_hand:
            task = min(at_hand, key=self._rank)
            del self._sent[task]
            self._running[worker] = (task, now)
            mode = self.instance.graph.mode_ptr[task]
            self._at(now + float(self._seconds[mode, worker]), lambda t: self._end(worker, t))

    def _end(self, worker: int, now: float) -> None:
        task, since = self._running.pop(worker)
        self._ended[task] = (worker, since, now)
        self._hold(task, worker)
        for producer, _ in self._inputs[task]:
            self._bytes.used(producer)
        directives = self._follower.finished(self.instance.graph.names[task])
        for consumer in self._consumers[task]:
            self._open[consumer] -= 1
            if not self._open[consumer]:
                self._decide(consumer, now)
        self._carry(directives, now)
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
        self._carry(self._follower.mended(self._slots(correction.schedule)), now)
        for worker in range(len(self.instance.cluster)):
            self._begin(worker, now)
