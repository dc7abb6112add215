"""Instances in odd corners: what takes no time or no room, what is equal, and what is out of reach.

Times are multiples of a tick that floats may not hold exactly, amounts of a unit that they may not.
"""

from __future__ import annotations

import contextlib
import math
import random
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Cluster, Edge, Mode, Task, TaskGraph, Worker
from tests.benchmarks.audit.drawn import Drawn

TICKS = (1.0, 1.0, 1.0, 0.1, 1 / 3, 1e-3, 7e5)
BYTES = (1.0, 1.0, 1.0, 0.1, 1e9)

FAR = 1000
"""Ticks of latency that no deadline leaves time for: such workers cannot reach each other."""


def odd_instance(seed: int) -> Drawn | None:
    """The instance and its tick; None where it is refused at once."""
    with contextlib.suppress(InfeasibleInstance):
        odd = _Odd(random.Random(f"odd {seed}"))
        return Drawn(odd.instance(), odd.tick)
    return None


class _Odd:
    """What is drawn once for the whole instance, and the parts that are made of it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.tick, self.byte = rng.choice(TICKS), rng.choice(BYTES)
        self.n_workers = rng.choice([1, 2, 2, 3])
        self.is_far, self.is_equal = rng.random() < 0.35, rng.random() < 0.25
        self.has_memory, self.is_dated = rng.random() < 0.4, rng.random() < 0.3
        self.has_stock, self.is_wide = rng.random() < 0.2, rng.random() < 0.5

    def instance(self) -> Instance:
        tasks, edges, rows, units = [], [], [], 0
        for i in range(self.rng.randint(1, 5)):
            count = self.rng.choice([1, 1, 2, 3]) if units <= 3 else 1
            units += count
            modes = [self.mode() for _ in range(self.rng.choice([1, 1, 2]))]
            tasks.append(self.task(i, count, modes))
            edges += self.edges(tasks)
            rows += [self.durations() for _ in modes]
        seconds = np.array(rows) * self.tick
        return Instance(TaskGraph.from_tasks(tasks, edges), self.cluster(), seconds)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def durations(self) -> list[float]:
        """Ticks on each worker: even, so that halves are whole; infinity where it may not run."""
        found = [2.0 if self.is_equal else self.rng.choice([0.0, 2, 2, 4]) for _ in self.workers]
        barred = [self.chance(0.15) for _ in self.workers]
        barred[self.rng.randrange(self.n_workers)] = False
        return [math.inf if b else ticks for ticks, b in zip(found, barred, strict=True)]

    @property
    def workers(self) -> range:
        return range(self.n_workers)

    def task(self, i: int, count: int, modes: list[Mode]) -> Task:
        release = self.rng.choice([0, 0, 0, 1, 2, 4])
        latest = release + self.rng.choice([4, 6, 8, 12, 16])
        is_bound = self.is_far or (self.is_dated and self.chance(0.7))
        return Task(
            name=f"t{i}",
            modes=tuple(modes),
            count=count,
            output_bytes=self.rng.choice([0, 0, 2, 2, 4]) * self.byte,
            release=release * self.tick,
            deadline=latest * self.tick if is_bound else None,
            due=self.rng.choice([0, 2, 5]) * self.tick if self.chance(0.6) else None,
            weight=float(self.rng.choice([0, 1, 1, 3])),
            checkpoints=(0.5,) if self.chance(0.15) else (),
        )

    def mode(self) -> Mode:
        needs: dict[str, Any] = {}
        if self.has_stock:
            needs["consumes"] = {"credit": self.rng.choice([0, 1, 2]) * self.byte}
        return Mode(
            threads=self.rng.choice([1, 1, 2, 3]) if self.is_wide else 1,
            memory=self.rng.choice([0, 0, 1, 3]) * self.byte if self.has_memory else 0.0,
            resources={"GPU": self.rng.choice([0, 0, 0.5, 1])},
            **needs,
        )

    def edges(self, tasks: list[Task]) -> list[Edge]:
        """Edges into the last task."""
        consumer, found = tasks[-1], []
        for producer in tasks[:-1]:
            if self.chance(0.5):
                most = producer.count // consumer.count
                taken = self.rng.choice([producer.count, *range(1, most + 1)])
                part = self.rng.choice([None, None, 0.0, min(2 * self.byte, producer.output_bytes)])
                found.append(Edge(producer.name, consumer.name, part, taken))
        return found

    def cluster(self) -> Cluster:
        per_byte = self.tick / self.byte
        return Cluster.from_matrices(
            [self.worker(w) for w in self.workers],
            latency=self.between([0, 0, 1, 2, *[FAR] * (2 * self.is_far)], self.tick),
            seconds_per_byte=self.between([0, 0, 0.5, 1], per_byte),
            encode_seconds_per_byte=self.between([0, 0, 0.5], per_byte),
            stock={"credit": self.rng.randint(2, 8) * self.byte} if self.has_stock else {},
        )

    def worker(self, w: int) -> Worker:
        """The first one is large enough for each task."""
        return Worker(
            name=f"w{w}",
            threads=3 if self.is_wide and w == 0 else self.rng.choice([1, 1, 2, 3]),
            memory=self.rng.randint(4, 10) * self.byte if self.has_memory else math.inf,
            resources={"GPU": 1 if w == 0 else self.rng.choice([0.5, 1, 1.5])},
            price=float(self.rng.choice([0, 1, 1, 3])),
        )

    def between(self, choices: list[float], unit: float) -> list[list[float]]:
        """For each pair of workers, by itself in each direction."""
        return [[self.rng.choice(choices) * unit for _ in self.workers] for _ in self.workers]
