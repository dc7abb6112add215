"""List scheduling on lanes: the fast kernel, for instances in which only threads are scarce.

Each thread of a worker is a lane on which one task runs at a time. The kernel takes no encoding,
no binding memory, no binding resource and no task of several threads; `profiles.py` takes them all.
Idle gaps before a lane's last end are kept in a sorted list, so that a task can be inserted.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem


@compiled
def first_gap(begins: Floats, ends: Floats, count: int, ready: float, seconds: float) -> int:
    """The first of `count` gaps that holds `seconds` from `ready` on, or -1."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ends[middle] > ready:
            high = middle
        else:
            low = middle + 1
    for gap in range(low, count):
        if max(ready, begins[gap]) + seconds <= ends[gap]:
            return gap
    return -1


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
    w = len(p.worker_threads)
    lane_ptr = np.zeros(w + 1, dtype=np.int64)
    for b in range(w):
        lane_ptr[b + 1] = lane_ptr[b] + min(p.worker_threads[b], max(1, len(order)))
    lanes = lane_ptr[w]
    last = np.zeros(lanes)
    begins = [np.empty(8) for _ in range(lanes)]
    ends = [np.empty(8) for _ in range(lanes)]
    gaps = np.zeros(lanes, dtype=np.int64)
    ready = np.empty(w)
    latest_start = np.zeros(w)
    looks_ahead = len(ahead) > 0
    for t in order:
        ready[:] = p.release[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            producer = p.in_task[k]
            source, done, nbytes = worker[producer], end[producer], p.in_bytes[k]
            latency, per_byte = p.latency[source], p.per_byte[source]
            for b in range(w):
                # Without a branch, so that several workers are reckoned at once.
                there = done + latency[b] + nbytes * per_byte[b]
                ready[b] = there if there > ready[b] else ready[b]
        best, best_end = np.inf, 0.0
        best_start, best_worker, best_lane, best_gap, best_mode = 0.0, -1, -1, -1, -1
        for b in range(w):
            if fixed_worker[t] >= 0 and fixed_worker[t] != b:
                continue
            earliest = max(ready[b], latest_start[b]) if in_order else ready[b]
            for m in range(p.mode_begin[t], p.mode_end[t]):
                seconds = p.seconds[m, b]
                if fixed_mode[t] >= 0 and fixed_mode[t] != m:
                    continue
                soonest = earliest + seconds
                if looks_ahead:
                    soonest += ahead[t, b]
                if not soonest < best:
                    continue
                begin, lane, gap, idle = np.inf, -1, -1, np.inf
                for x in range(lane_ptr[b], lane_ptr[b + 1]):
                    at, hole, since = max(earliest, last[x]), -1, last[x]
                    if insertion and last[x] > earliest and gaps[x] > 0:
                        hole = first_gap(begins[x], ends[x], gaps[x], earliest, seconds)
                        if hole >= 0:
                            since = begins[x][hole]
                            at = max(earliest, since)
                    # Among equal starts, the lane that was idle for the shortest time.
                    if at < begin or (at == begin and at - since < idle):
                        begin, lane, gap, idle = at, x, hole, at - since
                if seconds == 0.0:
                    begin, lane = earliest, -1
                score = begin + seconds
                if looks_ahead:
                    score += ahead[t, b]
                if score < best:
                    best, best_start, best_end = score, begin, begin + seconds
                    best_worker, best_lane, best_gap, best_mode = b, lane, gap, m
        start[t], end[t], worker[t], mode[t] = best_start, best_end, best_worker, best_mode
        latest_start[best_worker] = max(latest_start[best_worker], best_start)
        if best_lane < 0:
            continue
        x, count = best_lane, gaps[best_lane]
        if best_gap >= 0:
            begin, close = begins[x][best_gap], ends[x][best_gap]
            before, after = best_start > begin, best_end < close
            if before and after:
                if count == len(begins[x]):
                    begins[x] = np.append(begins[x], np.empty(count))
                    ends[x] = np.append(ends[x], np.empty(count))
                for i in range(count, best_gap + 1, -1):
                    begins[x][i], ends[x][i] = begins[x][i - 1], ends[x][i - 1]
                ends[x][best_gap] = best_start
                begins[x][best_gap + 1], ends[x][best_gap + 1] = best_end, close
                gaps[x] = count + 1
            elif before:
                ends[x][best_gap] = best_start
            elif after:
                begins[x][best_gap] = best_end
            else:
                for i in range(best_gap, count - 1):
                    begins[x][i], ends[x][i] = begins[x][i + 1], ends[x][i + 1]
                gaps[x] = count - 1
        else:
            if insertion and best_start > last[x]:
                if count == len(begins[x]):
                    begins[x] = np.append(begins[x], np.empty(count))
                    ends[x] = np.append(ends[x], np.empty(count))
                begins[x][count], ends[x][count] = last[x], best_start
                gaps[x] = count + 1
            last[x] = best_end


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
