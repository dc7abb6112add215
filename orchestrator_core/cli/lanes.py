"""Bars of a schedule on the threads of its workers: what a text Gantt chart draws.

A lane is one thread of a worker; a task that needs several threads stands in several lanes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.schedule import Schedule

MEASURED = 0.1
"""Part of a measured duration by which clocks may be wrong."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time in which a task keeps one thread busy; `kind` points into the kinds."""

    start: float
    end: float
    kind: int


@dataclass(frozen=True, slots=True)
class WorkerUse:
    """What a worker does in a schedule.

    Attributes:
        busy: thread-seconds of tasks. last_end: seconds, 0 if it has no task.
        lanes: the pieces on each thread in use, in time order, threads in use first.
    """

    name: str
    kind: str
    threads: int
    tasks: int
    busy: float
    last_end: float
    lanes: tuple[tuple[Piece, ...], ...]


def worker_uses(instance: Instance, schedule: Schedule) -> list[WorkerUse]:
    """The use of each worker, in the cluster's order."""
    graph, cluster = instance.graph, instance.cluster
    lanes: dict[str, list[list[Piece]]] = {name: [] for name in cluster.names}
    tasks = dict.fromkeys(cluster.names, 0)
    stretches = []
    for assignment in schedule.assignments:
        task = graph.index[assignment.task]
        threads = int(graph.mode_threads[graph.mode_ptr[task] + assignment.mode])
        tasks[assignment.worker] += 1
        for start, end in assignment.segments or ((assignment.start, assignment.end),):
            piece = Piece(start, end, int(graph.kind_of[task]))
            stretches.append((start, end, assignment.worker, threads, piece))
    for _, _, worker, threads, piece in sorted(stretches, key=lambda stretch: stretch[:4]):
        _put(lanes[worker], piece, threads)
    return [
        _use(worker.name, worker.kind, worker.threads, tasks[worker.name], lanes[worker.name])
        for worker in cluster.workers
    ]


def pack(pieces: Iterable[Piece], threads: int | None = None) -> tuple[tuple[Piece, ...], ...]:
    """Pieces of one thread each, in order of their starts, in few lanes: as really measured, so
    those that overlap by a tenth may share one. There are never more lanes than `threads`, where
    that is known: the clock of a worker is set by its heartbeats, and while a scheduler is busy it
    may jump by more than a short task takes.
    """
    lanes: list[list[Piece]] = []
    for piece in pieces:
        latest = piece.start + MEASURED * (piece.end - piece.start)
        lane = next((lane for lane in lanes if lane[-1].end <= latest), None)
        if lane is None and len(lanes) == threads:
            lane = min(lanes, key=lambda lane: lane[-1].end)
        if lane is None:
            lanes.append(lane := [])
        lane.append(piece)
    return tuple(map(tuple, lanes))


def _use(name: str, kind: str, threads: int, tasks: int, lanes: list[list[Piece]]) -> WorkerUse:
    pieces = [piece for lane in lanes for piece in lane]
    return WorkerUse(
        name=name,
        kind=kind,
        threads=threads,
        tasks=tasks,
        busy=sum(piece.end - piece.start for piece in pieces),
        last_end=max((piece.end for piece in pieces), default=0.0),
        lanes=tuple(map(tuple, lanes)),
    )


def _put(lanes: list[list[Piece]], piece: Piece, threads: int) -> None:
    """Into the first lanes that are free by then, new ones if there are too few."""
    slack = 1e-9 + 1e-6 * (piece.end - piece.start)
    free = [lane for lane in lanes if not lane or lane[-1].end <= piece.start + slack][:threads]
    while len(free) < threads:
        lanes.append([])
        free.append(lanes[-1])
    for lane in free:
        lane.append(piece)
