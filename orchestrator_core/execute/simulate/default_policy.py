"""Dask's own policy, simulated: where distributed 2026.8 would run each task, and when.

What it decides from is what Dask knows: one duration for each kind of task on all workers alike
(`believed`), one bandwidth for all links, and who holds what. What then happens takes the
instance's own durations and links.

    root-like task     of a kind with more than 2 tasks a thread and few dependencies: waits on the
                       scheduler, goes to the least busy worker with room (saturation 1.1)
    any other task     is placed when its inputs are done: among the workers that hold an input,
                       where it is believed to start first (`worker_objective`); with no inputs, on
                       the least occupied worker
    stealing           every 0.1 s, see `stealing.py`
    order on a worker  by priority: depth first through the graph, as dask.order does roughly

Coarser than the original: kinds stand for both prefixes and groups, `believed` does not change
during the run, stealing takes no time, and a fetched copy is not a source for further fetches.
Of a task with modes it runs the first; checkpoints are not used. It knows no memory, no dates but
releases, and no stock.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.simulate.event_loop import EventLoop
from orchestrator_core.execute.simulate.stealing import Stealing
from orchestrator_core.execute.simulate.units import Units
from orchestrator_core.graph.task_graph import Floats

SATURATION = 1.1
"""distributed.scheduler.worker-saturation"""

ROOT_DEPENDENCIES = 5
"""A root-like kind depends on fewer kinds, and on fewer tasks, than this."""


class DefaultPolicy:
    """What Dask's scheduler keeps, and what it decides when a task becomes ready or ends.

    Attributes:
        seconds: (u,) believed duration of each unit.
        allowed: (u,) workers on which it may run; None for all.
        occupancy: (w,) believed seconds of what a worker was given and has not ended.
        processing: (w,) those units; a dict for its order.
        held: (w,) bytes of outputs there; holders: (u,) the workers that hold its output.
    """

    def __init__(
        self, instance: Instance, units: Units, loop: EventLoop, believed: Floats, seed: int
    ) -> None:
        """`believed` are (kinds,) seconds; `seed` says in which order equal workers are taken."""
        graph, cluster = instance.graph, instance.cluster
        kind_of = graph.kind_of.tolist()
        self.units, self.loop = units, loop
        self.kind = [kind_of[task] for task in units.task]
        self.seconds = [float(believed[kind]) for kind in self.kind]
        self.size: list[float] = [float(graph.output_bytes[task]) for task in units.task]
        self.threads = [worker.threads for worker in cluster.workers]
        w = len(cluster)
        self.turn = list(range(w))
        if seed:
            random.Random(seed).shuffle(self.turn)
        self.workers = sorted(range(w), key=self.turn.__getitem__)
        self.seconds_per_byte = float(cluster.seconds_per_byte.sum()) / max(1, w * (w - 1))
        self.allowed = _allowed(instance, units, loop.mode)
        self.root_like = _root_like(self.kind, units, sum(self.threads))
        self.occupancy = [0.0] * w
        self.processing: list[dict[int, None]] = [{} for _ in range(w)]
        self.held = [0.0] * w
        self.holders: list[list[int]] = [[] for _ in range(len(units))]
        self.cost = [0.0] * len(units)
        self.queue: list[tuple[int, int]] = []
        self.stealing = Stealing(self)

    def ready(self, unit: int) -> None:
        """All inputs of the unit are done."""
        if self.root_like[self.kind[unit]] and self.allowed[unit] is None:
            heapq.heappush(self.queue, (self.loop.priority[unit], unit))
            self._serve_queue()
        else:
            self._give(unit, self._place(unit))

    def done(self, unit: int) -> None:
        """The unit has ended."""
        worker = self.loop.worker[unit]
        self._forget(unit, worker)
        self.arrived(unit, worker)

    def arrived(self, unit: int, worker: int) -> None:
        """The unit's output is on the worker."""
        self.holders[unit].append(worker)
        self.held[worker] += self.size[unit]

    def settle(self) -> None:
        """All that happens at this moment has happened."""
        self._serve_queue()
        self.stealing.balance_if_due()

    def fetch_seconds(self, unit: int, worker: int) -> float:
        """Believed seconds to bring the inputs that the worker lacks (`get_comm_cost`)."""
        missing = sum(
            self.size[producer]
            for producer, _ in self.units.inputs[unit]
            if worker not in self.holders[producer]
        )
        return missing * self.seconds_per_byte

    def objective(self, unit: int, worker: int) -> tuple[float, float, int]:
        """Believed start on the worker, then bytes held there (`worker_objective`)."""
        wait = self.occupancy[worker] / self.threads[worker]
        return wait + self.fetch_seconds(unit, worker), self.held[worker], self.turn[worker]

    def move(self, unit: int, thief: int) -> None:
        """Another worker takes the unit over."""
        self._forget(unit, self.loop.worker[unit])
        self.loop.take_back(unit)
        self._give(unit, thief)

    def _place(self, unit: int) -> int:
        """`decide_worker_non_rootish`"""
        allowed = self.allowed[unit]
        if not self.units.inputs[unit] and allowed is None:
            return self._least_occupied()
        near = {
            worker for producer, _ in self.units.inputs[unit] for worker in self.holders[producer]
        }
        if allowed is not None:
            near &= allowed
        candidates = near or allowed or set(self.workers)
        return min(candidates, key=lambda worker: self.objective(unit, worker))

    def _least_occupied(self) -> int:
        """For a task without inputs: round robin over workers with nothing to do."""
        w = len(self.workers)
        first = len(self.units) % w
        for i in range(w):
            worker = self.workers[(first + i) % w]
            if not self.occupancy[worker] and not self.processing[worker]:
                return worker
        return min(self.workers, key=lambda worker: (self.occupancy[worker], self.turn[worker]))

    def _serve_queue(self) -> None:
        """`decide_worker_rootish_queuing_enabled`, as long as a worker has room."""
        while self.queue:
            open_to = [worker for worker in self.workers if self._has_room(worker)]
            if not open_to:
                return
            _, unit = heapq.heappop(self.queue)
            self._give(unit, min(open_to, key=self._busy))

    def _has_room(self, worker: int) -> bool:
        return len(self.processing[worker]) < math.ceil(SATURATION * self.threads[worker])

    def _busy(self, worker: int) -> float:
        return len(self.processing[worker]) / self.threads[worker]

    def _give(self, unit: int, worker: int) -> None:
        self.cost[unit] = self.seconds[unit] + self.fetch_seconds(unit, worker)
        self.occupancy[worker] += self.cost[unit]
        self.processing[worker][unit] = None
        self.loop.give(unit, worker)

    def _forget(self, unit: int, worker: int) -> None:
        del self.processing[worker][unit]
        # Exactly zero when nothing is left, whatever rounding says.
        left = self.occupancy[worker] - self.cost[unit]
        self.occupancy[worker] = max(left, 0.0) if self.processing[worker] else 0.0


def _allowed(instance: Instance, units: Units, mode: list[int]) -> list[set[int] | None]:
    everywhere = [all(row) for row in instance.eligible.tolist()]
    where: dict[int, set[int] | None] = {}
    for k in set(mode):
        where[k] = None if everywhere[k] else set(np.flatnonzero(instance.eligible[k]).tolist())
    return [where[mode[unit]] for unit in range(len(units))]


def _root_like(kind: list[int], units: Units, threads: int) -> dict[int, bool]:
    """`is_rootish`, by kind."""
    members = Counter(kind)
    needed: dict[int, set[int]] = {k: set() for k in members}
    for unit, inputs in enumerate(units.inputs):
        needed[kind[unit]].update(kind[producer] for producer, _ in inputs)
    return {
        k: members[k] > 2 * threads
        and len(needed[k]) < ROOT_DEPENDENCIES
        and sum(members[other] for other in needed[k]) < ROOT_DEPENDENCIES
        for k in members
    }
