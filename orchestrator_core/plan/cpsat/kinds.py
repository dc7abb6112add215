"""Kinds: interchangeable workers as one worker with all their threads, and back by colouring.

Where all tasks that may run on some exchangeable workers take the same number of threads, and
nothing is lost by being on one of these workers rather than another, it is enough to know how many
run beside each other: intervals of which never more than k overlap are coloured with k colours,
first come, first served. The model then has one cumulative for the kind instead of a choice of
worker for each task.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.cpsat.expand import inputs_of
from orchestrator_core.plan.cpsat.symmetry import worker_classes
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer


@dataclass(frozen=True, slots=True)
class Kind:
    """Workers, by position, of which each has room for `slots` tasks at a time."""

    workers: tuple[int, ...]
    slots: int


@dataclass(frozen=True, slots=True)
class Kinds:
    """An instance, and the same with its kinds as workers, which carry their first one's names.

    Attributes:
        whole: as it was given. instance: with a worker for each kind.
        kinds: in the order of the workers of `instance`; a worker that cannot be merged is a kind
            of its own, with 0 slots.
    """

    whole: Instance
    instance: Instance
    kinds: tuple[Kind, ...]

    def merged(self, schedule: Schedule) -> Schedule:
        """A schedule of `whole` as one of `instance`."""
        if self.whole is self.instance:
            return schedule
        called = {
            self.whole.cluster.names[w]: self.whole.cluster.names[kind.workers[0]]
            for kind in self.kinds
            for w in kind.workers
        }
        moved = (
            replace(t, source=called[t.source], destination=called[t.destination])
            for t in schedule.transfers
        )
        kept = {(t.task, t.instance, t.destination): t for t in moved if t.source != t.destination}
        return Schedule(
            [replace(a, worker=called[a.worker]) for a in schedule.assignments], kept.values()
        )

    def restored(self, schedule: Schedule) -> Schedule:
        """A schedule of `instance` as one of `whole`."""
        if self.whole is self.instance:
            return schedule
        names = self.whole.cluster.names
        kind_of = {names[kind.workers[0]]: kind for kind in self.kinds}
        rows = list(schedule.assignments)
        for name, kind in kind_of.items():
            if kind.slots:
                here = [i for i, row in enumerate(rows) if row.worker == name]
                for i, worker in zip(here, _colours([rows[i] for i in here], kind), strict=True):
                    rows[i] = replace(rows[i], worker=names[worker])
        return Schedule(rows, _transfers(self, rows, schedule))


def kinds_of(instance: Instance) -> Kinds:
    """The kinds; those that cannot be merged stay as they are."""
    merged = {}
    for workers in worker_classes(instance):
        if slots := _slots(instance, workers):
            merged.update(dict.fromkeys(workers, Kind(tuple(workers), slots)))
    if not merged:
        alone = tuple(Kind((w,), 0) for w in range(len(instance.cluster)))
        return Kinds(instance, instance, alone)
    all_workers = range(len(instance.cluster))
    kinds = tuple(dict.fromkeys(merged.get(w, Kind((w,), 0)) for w in all_workers))
    return Kinds(instance, _instance(instance, kinds), kinds)


def _instance(instance: Instance, kinds: tuple[Kind, ...]) -> Instance:
    cluster = instance.cluster
    firsts = np.array([kind.workers[0] for kind in kinds])
    workers = []
    for kind in kinds:
        worker = cluster.workers[kind.workers[0]]
        each = _threads(instance, kind.workers[0])
        threads = len(kind.workers) * kind.slots * each if kind.slots else worker.threads
        workers.append(replace(worker, threads=threads))
    pairs = np.ix_(firsts, firsts)
    return Instance(
        instance.graph,
        Cluster.from_matrices(
            workers,
            latency=cluster.latency[pairs],
            seconds_per_byte=cluster.seconds_per_byte[pairs],
            encode_seconds_per_byte=cluster.encode_seconds_per_byte[pairs],
            stock=cluster.stock,
        ),
        instance.seconds[:, firsts],
    )


def _slots(instance: Instance, workers: list[int]) -> int:
    """Tasks beside each other on each of these workers; 0 if they cannot be merged."""
    threads = _threads(instance, workers[0])
    alike = threads and not _has_limits(instance, workers[0]) and not _has_costs(instance, workers)
    return instance.cluster.workers[workers[0]].threads // threads if alike else 0


def _threads(instance: Instance, worker: int) -> int:
    """Threads that each task takes there; 0 if they differ, or if there is none."""
    threads = set(instance.graph.mode_threads[instance.eligible[:, worker]].tolist())
    return int(threads.pop()) if len(threads) == 1 else 0


def _has_limits(instance: Instance, worker: int) -> bool:
    """Is there anything but threads of which a task may find too little, or which it keeps?"""
    graph = instance.graph
    modes = np.flatnonzero(instance.eligible[:, worker]).tolist()
    held = graph.mode_memory.max(initial=0.0) > 0 or graph.output_bytes.max(initial=0.0) > 0
    return (
        (held and bool(np.isfinite(instance.cluster.workers[worker].memory)))
        or any(any(graph.demand(mode).resources.values()) for mode in modes)
        or any(graph.checkpoints(int(graph.mode_task[mode])) for mode in modes)
    )


def _has_costs(instance: Instance, workers: list[int]) -> bool:
    """Does a transfer between two of them take any time, or an encoding on one of them or for one
    of them? What is sent to two of them is encoded twice."""
    graph, cluster = instance.graph, instance.cluster
    if graph.n_edges == 0:
        return False
    most = float(graph.output_bytes.max(initial=0.0))

    def taken(per_byte: Floats) -> bool:
        return most > 0 and bool(per_byte.any())

    inside = np.ix_(workers, workers)
    return (
        bool(cluster.latency[inside].any())
        or taken(cluster.seconds_per_byte[inside])
        or taken(cluster.encode_seconds_per_byte[workers])
        or taken(cluster.encode_seconds_per_byte[:, workers])
    )


def _colours(rows: list[Assignment], kind: Kind) -> Iterator[int]:
    """A worker for each row: of the slots, the one that is free for the longest time."""
    free = [(0.0, slot) for slot in range(len(kind.workers) * kind.slots)]
    found = [0] * len(rows)
    for i in sorted(range(len(rows)), key=lambda i: (rows[i].start, rows[i].end)):
        _, slot = heapq.heappop(free)
        heapq.heappush(free, (rows[i].end, slot))
        found[i] = kind.workers[slot // kind.slots]
    yield from found


def _transfers(kinds: Kinds, rows: list[Assignment], merged: Schedule) -> list[Transfer]:
    """One for each output and each other worker that needs it, at the times between the kinds."""
    graph = kinds.whole.graph
    names = kinds.whole.cluster.names
    first = {names[w]: names[kind.workers[0]] for kind in kinds.kinds for w in kind.workers}
    sent = {(t.task, t.instance, t.destination): t for t in merged.transfers}
    row_of = {(graph.index[row.task], row.instance): row for row in rows}
    moves: dict[tuple[str, int, str], Transfer] = {}
    for (task, number), consumer in row_of.items():
        for producer, k, _ in inputs_of(kinds.whole, task, number):
            made = row_of[producer, k]
            key = made.task, made.instance, consumer.worker
            if made.worker == consumer.worker or key in moves:
                continue
            between = sent.get((made.task, made.instance, first[consumer.worker]))
            start, encoded, end = (
                (between.start, between.encoded, between.end)
                if between is not None
                else (made.end, made.end, made.end)
            )
            moves[key] = Transfer(
                task=made.task,
                source=made.worker,
                destination=consumer.worker,
                start=start,
                encoded=encoded,
                end=end,
                nbytes=float(graph.output_bytes[producer]),
                instance=made.instance,
            )
    return list(moves.values())
