"""List scheduling on lanes: the fast kernel, for instances in which only threads are scarce.

Each thread of a worker is a lane on which one task runs at a time. The kernel takes no encoding,
no binding memory, no binding resource and no task of several threads; `profiles.py` takes them all.
Idle gaps before a lane's last end are kept in a sorted list, so that a task can be inserted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inlined, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.lane_gaps import (
    Lanes,
    append,
    idle_lanes,
    insert,
    lane_of,
    wider,
)


class Wish(NamedTuple):
    """(n,) worker and mode of each task, -1 where it may choose; ahead: (n, w) or (0, 0)."""

    worker: Ints
    mode: Ints
    ahead: Floats


class Found(NamedTuple):
    """(n,) where the tasks are placed."""

    start: Floats
    end: Floats
    worker: Ints
    mode: Ints


@inlined
def _arrivals(p: Problem, t: int, found: Found, ready: Floats) -> None:
    """Write when the inputs of task t could be on each worker."""
    ready[:] = p.release[t]
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        producer = p.in_task[k]
        source, done, nbytes = found.worker[producer], found.end[producer], p.in_bytes[k]
        latency, per_byte = p.latency[source], p.per_byte[source]
        for b in range(len(ready)):
            # Without a branch, so that several workers are reckoned at once.
            there = done + latency[b] + nbytes * per_byte[b]
            ready[b] = there if there > ready[b] else ready[b]


@inlined
def _soonest(
    p: Problem, t: int, wish: Wish, insertion: bool, in_order: bool, lanes: Lanes
) -> tuple[float, float, int, int, int, int]:
    """(start, end, worker, mode, lane, gap) where task t ends first; lane -1 for no time."""
    best, best_start, best_end = np.inf, 0.0, 0.0
    best_worker, best_mode, best_lane, best_gap = -1, -1, -1, -1
    for b in range(len(lanes.ready)):
        if wish.worker[t] >= 0 and wish.worker[t] != b:
            continue
        earliest = max(lanes.ready[b], lanes.latest[b]) if in_order else lanes.ready[b]
        for m in range(p.mode_begin[t], p.mode_end[t]):
            seconds = p.seconds[m, b]
            if wish.mode[t] >= 0 and wish.mode[t] != m:
                continue
            if not _score(earliest + seconds, t, b, wish) < best:
                continue
            begin, lane, gap = earliest, -1, -1
            if seconds != 0.0:
                begin, lane, gap = lane_of(lanes, b, earliest, seconds, insertion)
            score = _score(begin + seconds, t, b, wish)
            if score < best:
                best, best_start, best_end = score, begin, begin + seconds
                best_worker, best_mode, best_lane, best_gap = b, m, lane, gap
    return best_start, best_end, best_worker, best_mode, best_lane, best_gap


@inlined
def _score(end: float, t: int, b: int, wish: Wish) -> float:
    """What is compared: the end, and what lies ahead if that is looked at."""
    return end + wish.ahead[t, b] if len(wish.ahead) > 0 else end


@inner
def _go_on(
    p: Problem,
    order: Ints,
    done: int,
    wish: Wish,
    insertion: bool,
    in_order: bool,
    lanes: Lanes,
    found: Found,
) -> int:
    """Place what comes after the first `done` tasks; how many are placed before a lane is full."""
    p, wish, lanes, found = lent(p), lent(wish), lent(lanes), lent(found)
    for number in range(done, len(order)):
        t = order[number]
        _arrivals(p, t, found, lanes.ready)
        start, end, b, m, lane, gap = _soonest(p, t, wish, insertion, in_order, lanes)
        if lane >= 0 and lanes.gaps[lane] == lanes.since.shape[1]:
            return number
        found.start[t], found.end[t], found.worker[t], found.mode[t] = start, end, b, m
        lanes.latest[b] = max(lanes.latest[b], start)
        if gap >= 0:
            insert(lanes, lane, gap, start, end)
        elif lane >= 0:
            append(lanes, lane, start, end, insertion)
    return len(order)


@compiled
def place_on_lanes(
    p: Problem,
    order: Ints,
    fixed_worker: Ints,
    fixed_mode: Ints,
    ahead: Floats,
    insertion: bool,
    in_order: bool,
    start: Floats,
    end: Floats,
    worker: Ints,
    mode: Ints,
) -> None:
    """Place each task of `order` where it ends first; write start, end, worker and mode.

    Args:
        fixed_worker, fixed_mode: (n,) where a task must run, -1 where it may choose.
        ahead: (n, w) seconds added to the end when workers are compared, or (0, 0).
        insertion: may a task start in a gap before the last end of its lane?
        in_order: may no task start before one that came earlier in the order on its worker?
    """
    wish, found = Wish(fixed_worker, fixed_mode, ahead), Found(start, end, worker, mode)
    lanes = idle_lanes(p, len(order))
    done = _go_on(p, order, 0, wish, insertion, in_order, lanes, found)
    while done < len(order):
        lanes = wider(lanes)
        done = _go_on(p, order, done, wish, insertion, in_order, lanes, found)


@compiled
def transfers_between(p: Problem, worker: Ints) -> tuple[Ints, Ints]:
    """(task, destination) of every output that is needed on another worker, sorted by both."""
    n, w = len(worker), len(p.worker_threads)
    task = np.empty(len(p.out_task), dtype=np.int64)
    destination = np.empty(len(p.out_task), dtype=np.int64)
    known = np.full(w, -1, dtype=np.int64)
    count = 0
    for t in range(n):
        first = count
        known[worker[t]] = t
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            b = worker[p.out_task[k]]
            if known[b] != t:
                known[b] = t
                task[count], destination[count] = t, b
                count += 1
        destination[first:count].sort()
    return task[:count].copy(), destination[:count].copy()
