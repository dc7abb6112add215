"""Schedules that need no planner, and what they occupy, worked out the slow and plain way."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from orchestrator_core.costs.feasible import needed_memory
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer

Place = Callable[[int, int], tuple[int, int]]
"""(task, instance) -> (mode among the task's modes, worker), by position."""


def serial_schedule(instance: Instance, rng: np.random.Generator | None = None) -> Schedule:
    """All tasks one after another, in topological order; valid for each `random_instance`.

    Without `rng`, each task takes its first eligible mode on the first worker that can run all
    tasks, or on its first eligible worker. With it, modes and workers are drawn, and the schedule
    is valid where memory, stock and deadlines allow it.
    """
    graph, cluster = instance.graph, instance.cluster
    place = _place_at_home(instance) if rng is None else _place_anywhere(instance, rng)
    at = {(task, r): place(task, r) for task in range(len(graph)) for r in range(graph.count[task])}
    wanted: dict[tuple[int, int], set[int]] = {}
    arrivals: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for a, ra, b, rb, _ in unit_edges(graph):
        wanted.setdefault((a, ra), set()).add(at[b, rb][1])
        arrivals.setdefault((b, rb), []).append((a, ra))
    clock, present = 0.0, dict[tuple[int, int, int], float]()
    rows, moves = [], []
    for task in graph.topological.tolist():
        for r in range(graph.count[task]):
            mode, w = at[task, r]
            inputs = [present[(*unit, w)] for unit in arrivals.get((task, r), ())]
            start = max([clock, float(graph.release[task]), *inputs])
            end = start + float(instance.seconds[graph.mode_ptr[task] + mode, w])
            rows.append(Assignment(graph.names[task], cluster.names[w], start, end, mode, r))
            clock = present[task, r, w] = end
            size = float(graph.output_bytes[task])
            for other in sorted(wanted.get((task, r), set()) - {w}):
                encoded = clock + size * float(cluster.encode_seconds_per_byte[w, other])
                arrival = encoded + cluster.transfer_seconds(w, other, size)
                names = (graph.names[task], cluster.names[w], cluster.names[other])
                moves.append(Transfer(*names, clock, encoded, arrival, size, r))
                clock, present[task, r, other] = encoded, arrival
    return Schedule(rows, moves)


def _place_at_home(instance: Instance) -> Place:
    ptr, eligible = instance.graph.mode_ptr, instance.eligible
    runs = np.logical_or.reduceat(eligible, ptr[:-1], axis=0) if len(instance.graph) else eligible
    homes = np.flatnonzero(runs.all(axis=0))

    def place(task: int, _: int) -> tuple[int, int]:
        here = eligible[ptr[task] : ptr[task + 1]]
        w = int(homes[0]) if len(homes) else int(np.argmax(here.any(axis=0)))
        return int(np.argmax(here[:, w])), w

    return place


def _place_anywhere(instance: Instance, rng: np.random.Generator) -> Place:
    ptr = instance.graph.mode_ptr

    def place(task: int, _: int) -> tuple[int, int]:
        pairs = np.argwhere(instance.eligible[ptr[task] : ptr[task + 1]])
        mode, w = pairs[rng.integers(len(pairs))]
        return int(mode), int(w)

    return place


def unit_edges(graph: TaskGraph) -> list[tuple[int, int, int, int, int]]:
    """(producer, its instance, consumer, its instance, edge): every single need for an output."""
    needs: list[tuple[int, int, int, int, int]] = []
    for e in range(graph.n_edges):
        a, b, n = int(graph.producer[e]), int(graph.consumer[e]), int(graph.multiplicity[e])
        for r in range(graph.count[b]):
            taken = range(n) if n == graph.count[a] else range(n * r, n * r + n)
            needs.extend((a, q, b, r, e) for q in taken)
    return needs


def memory_peak(instance: Instance, schedule: Schedule) -> dict[str, float]:
    """The most bytes on each worker at any moment, by looking at every moment of a start.

    Where a task could not run alone with so much (`needed_memory`), what it would need.
    """
    holds = _holds(instance, schedule)
    peak = dict.fromkeys(instance.cluster.names, 0.0)
    graph, alone = instance.graph, needed_memory(instance.graph)
    for row in schedule.assignments:
        mode = graph.mode_ptr[graph.index[row.task]] + row.mode
        peak[row.worker] = max(peak[row.worker], float(alone[mode]))
    for moment in {start for _, start, _, _ in holds}:
        now = dict.fromkeys(peak, 0.0)
        for worker, start, end, size in holds:
            if start <= moment < end:
                now[worker] += size
        peak = {worker: max(peak[worker], now[worker]) for worker in peak}
    return peak


def _holds(instance: Instance, schedule: Schedule) -> list[tuple[str, float, float, float]]:
    """(worker, from, until, bytes) of running tasks and of outputs where they are held."""
    graph = instance.graph
    row = {(graph.index[a.task], a.instance): a for a in schedule.assignments}
    holds = []
    for (task, _), run in row.items():
        size = float(graph.mode_memory[graph.mode_ptr[task] + run.mode])
        for start, end in run.segments or ((run.start, run.end),):
            holds.append((run.worker, start, end, size))
    first: dict[tuple[int, int, str], float] = {}
    last: dict[tuple[int, int, str], float] = {}
    for a, ra, b, rb, _ in unit_edges(graph):
        use, key = row[b, rb], (a, ra, row[b, rb].worker)
        first[key] = min(first.get(key, math.inf), use.start)
        last[key] = max(last.get(key, 0.0), use.end)
    for t in schedule.transfers:
        unit = (graph.index[t.task], t.instance)
        last[(*unit, t.source)] = max(last.get((*unit, t.source), 0.0), t.encoded)
        there = (*unit, t.destination)
        first[there] = min(first.get(there, math.inf), t.end)
    for (task, r, worker), until in last.items():
        made = row[task, r]
        since = made.end if made.worker == worker else first[task, r, worker]
        holds.append((worker, since, until, float(graph.output_bytes[task])))
    return holds
