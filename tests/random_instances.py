"""Random feasible instances of chosen constraints, small and quick to make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph
from tests.by_hand import memory_peak, serial_schedule

FLAGS = (
    "threads",
    "encode",
    "memory",
    "resources",
    "modes",
    "counts",
    "release",
    "deadline",
    "eligible",
    "stock",
    "checkpoints",
)
"""The constraints that `random_instance` knows."""


@dataclass(frozen=True)
class _Dice:
    """Random amounts: whole numbers where `integer` asks for them."""

    rng: np.random.Generator
    integer: bool

    def amount(self, low: float, high: float) -> float:
        if self.integer:
            return float(self.rng.integers(int(low), int(high) + 1))
        return float(self.rng.uniform(low, high))

    def matrix(self, low: float, high: float, shape: tuple[int, int]) -> np.ndarray:
        if self.integer:
            return self.rng.integers(int(low), math.ceil(high) + 1, shape).astype(float)
        return self.rng.uniform(low, high, shape)

    def chance(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))


def random_instance(
    rng: np.random.Generator,
    tasks: int,
    workers: int,
    *,
    threads: bool = False,
    encode: bool = False,
    memory: bool = False,
    resources: bool = False,
    modes: bool = False,
    counts: bool = False,
    release: bool = False,
    deadline: bool = False,
    eligible: bool = False,
    stock: bool = False,
    checkpoints: bool = False,
    integer: bool = False,
    ccr: float = 1.0,
) -> Instance:
    """A random feasible instance: `serial_schedule` of it is valid.

    Durations differ by worker without a pattern. The first worker offers all that any task needs.

    Args:
        integer: all times are whole seconds, and so are those of transfers.
        ccr: mean transfer time over mean duration, roughly.
    """
    dice = _Dice(rng, integer)
    members = [
        _random_task(
            dice,
            f"t{i}",
            i,
            workers,
            threads=threads,
            memory=memory,
            resources=resources,
            modes=modes,
            counts=counts,
            release=release,
            eligible=eligible,
            stock=stock,
            checkpoints=checkpoints,
        )
        for i in range(tasks)
    ]
    edges = _random_edges(dice, members)
    cluster = _random_cluster(dice, workers, threads, encode, resources, stock, ccr, members)
    return _tighten(dice, members, edges, cluster, memory, deadline)


def _random_task(dice: _Dice, name: str, i: int, workers: int, **flags: bool) -> Task:
    def mode(label: str) -> Mode:
        some = flags["resources"] and dice.chance(0.4)
        return Mode(
            name=label,
            threads=dice.whole(1, 3) if flags["threads"] else 1,
            memory=float(dice.whole(0, 8)) if flags["memory"] else 0.0,
            resources={"GPU": dice.whole(1, 2)} if some else {},
            seconds=dice.amount(1, 10),
            eligible=_some_workers(dice, workers) if flags["eligible"] and dice.chance() else None,
            consumes={"credit": dice.whole(1, 3)} if flags["stock"] and dice.chance() else {},
        )

    common: dict[str, Any] = {
        "name": name,
        "kind": f"k{i % 3}",
        "output_bytes": float(dice.whole(0, 4)),
        "release": dice.amount(0, 3 * i) if flags["release"] and dice.chance(0.3) else 0.0,
        "count": dice.whole(1, 3) if flags["counts"] else 1,
        "checkpoints": (0.25, 0.5) if flags["checkpoints"] and dice.chance(0.4) else (),
    }
    if flags["modes"]:
        number = dice.whole(1, 3)
        return Task(modes=tuple(mode(f"m{k}") for k in range(number)), **common)
    only = mode("")
    fields = {f: getattr(only, f) for f in Mode.__dataclass_fields__ if f != "name"}
    return Task(**common, **fields)


def _some_workers(dice: _Dice, workers: int) -> tuple[str, ...]:
    """The first worker, and each of the others by a coin."""
    return ("w0", *(f"w{w}" for w in range(1, workers) if dice.chance()))


def _random_edges(dice: _Dice, members: list[Task]) -> list[Edge]:
    edges = []
    for j in range(1, len(members)):
        near = np.arange(max(0, j - 8), j)
        for i in dice.rng.choice(near, size=min(len(near), dice.whole(0, 3)), replace=False):
            a, b = members[int(i)], members[j]
            most = a.count // b.count
            n = dice.whole(1, most) if most and dice.chance(0.7) else a.count
            part = float(dice.whole(0, int(a.output_bytes))) if dice.chance(0.3) else None
            edges.append(Edge(a.name, b.name, part, n))
    return edges


def _random_cluster(
    dice: _Dice,
    workers: int,
    threads: bool,
    encode: bool,
    resources: bool,
    stock: bool,
    ccr: float,
    members: list[Task],
) -> Cluster:
    shape = (workers, workers)
    # Outputs have 2 bytes and tasks 5.5 seconds on average.
    slow = 2.5 * ccr
    return Cluster.from_matrices(
        [
            Worker(
                name=f"w{w}",
                kind=f"kind{w % 2}",
                threads=(3 if w == 0 else dice.whole(1, 4)) if threads else 1,
                resources={"GPU": 2 if w == 0 else dice.whole(0, 2)} if resources else {},
                speed=float(dice.whole(1, 4)),
            )
            for w in range(workers)
        ],
        latency=dice.matrix(0, ccr, shape),
        seconds_per_byte=dice.matrix(0, slow, shape),
        encode_seconds_per_byte=dice.matrix(0, ccr, shape) if encode else 0.0,
        # What the first modes consume, which is what `serial_schedule` runs, and a little more.
        stock={"credit": _consumed(members) + dice.whole(0, 3)} if stock else {},
    )


def _consumed(members: list[Task]) -> float:
    return sum(
        (task.modes[0].consumes if task.modes else task.consumes).get("credit", 0.0) * task.count
        for task in members
    )


def _tighten(
    dice: _Dice,
    members: list[Task],
    edges: list[Edge],
    cluster: Cluster,
    memory: bool,
    deadline: bool,
) -> Instance:
    """Memory and deadlines that leave room for `serial_schedule`, but not for everything."""
    graph = TaskGraph.from_tasks(members, edges)
    speed = np.array([worker.speed for worker in cluster.workers])
    own = np.where(np.isnan(graph.mode_seconds), 0.0, graph.mode_seconds)[:, None]
    seconds = own * dice.matrix(1, 3, (graph.n_modes, len(cluster))) / speed
    if dice.integer:
        seconds = np.ceil(seconds)
    loose = Instance(graph, cluster, seconds)
    plain = serial_schedule(loose)
    if deadline:
        ends: dict[str, float] = {}
        for row in plain.assignments:
            ends[row.task] = max(ends.get(row.task, 0.0), row.end)
        members = [
            replace(t, deadline=ends[t.name] + dice.amount(0, 5)) if dice.chance() else t
            for t in members
        ]
        graph = TaskGraph.from_tasks(members, edges)
    if memory:
        peak = memory_peak(loose, plain)
        cluster = with_memory(
            cluster,
            {name: max(1.0, most) + dice.whole(0, 8) for name, most in peak.items()},
        )
    return Instance(graph, cluster, seconds)


def with_memory(cluster: Cluster, memory: Mapping[str, float]) -> Cluster:
    """The cluster with other memory, by worker."""
    return Cluster.from_matrices(
        [replace(w, memory=memory.get(w.name, w.memory)) for w in cluster.workers],
        latency=cluster.latency,
        seconds_per_byte=cluster.seconds_per_byte,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte,
        stock=cluster.stock,
    )
