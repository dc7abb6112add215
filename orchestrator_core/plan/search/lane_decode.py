"""Decoding again from the first change on: the kernel of the search on lanes (stage 3).

The same rule as `engine/lanes.py`: each task in its turn where it ends first, gaps included. But
the lanes still hold the last trial; they are taken back along the log to where the orders part,
filled up from the log of the current solution, which needs no searching, and only what follows is
placed anew. A trial that can no longer be as good as asked is left at once.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.compiled import inlined, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.lane_put import put, take
from orchestrator_core.plan.search.lane_walk import Lanes, Placed, Walk


@inner
def turn_back(s: Walk, first: int) -> None:
    """Let the lanes hold exactly the first `first` tasks, which are those of the current order."""
    lanes, trial, now = s.lanes, s.trial, s.now
    depth, valid = s.filled[0], min(first, s.filled[1])
    while depth > valid:
        depth -= 1
        take(lanes, trial, depth)
    for x in range(depth, first):
        t = s.now_order[x]
        trial.start[t], trial.end[t] = now.start[t], now.end[t]
        trial.worker[t], trial.mode[t], trial.cause[t] = now.worker[t], now.mode[t], now.cause[t]
        put(lanes, trial, x, t, now.log[x, 0], now.log[x, 1])
        trial.peak[x + 1], trial.late[x + 1] = now.peak[x + 1], now.late[x + 1]
        trial.reach[x + 1] = now.reach[x + 1]
    s.filled[0] = s.filled[1] = first


@inlined
def _arrivals(p: Problem, t: int, low: int, high: int, trial: Placed, ready: Floats) -> None:
    """Write when task t could begin on the workers from `low` up to, not including, `high`."""
    for b in range(low, high):
        ready[b] = p.release[t]
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        producer, nbytes = p.in_task[k], p.in_bytes[k]
        source, done = trial.worker[producer], trial.end[producer]
        for b in range(low, high):
            there = done + p.latency[source, b] + nbytes * p.per_byte[source, b]
            if there > ready[b]:
                ready[b] = there


@inlined
def _gap_of(lanes: Lanes, y: int, earliest: float, seconds: float) -> int:
    """The first gap of lane y that holds so many seconds from `earliest` on, or -1."""
    count = lanes.gaps[y]
    if count == 0 or lanes.until[y, count - 1] <= earliest:
        return -1
    i, j = 0, count - 1
    while i < j:
        middle = (i + j) // 2
        if lanes.until[y, middle] > earliest:
            j = middle
        else:
            i = middle + 1
    while i < count and max(earliest, lanes.since[y, i]) + seconds > lanes.until[y, i]:
        i += 1
    return i if i < count else -1


@inlined
def _lane_of(lanes: Lanes, b: int, earliest: float, seconds: float) -> tuple[float, int, int]:
    """(start, lane, gap or -1) of worker b where the task starts first; among equal starts, the
    lane that was idle for the shortest time."""
    begin, lane, gap, idle = np.inf, -1, -1, np.inf
    for y in range(lanes.ptr[b], lanes.ptr[b + 1]):
        hole, border = -1, lanes.last[y]
        if border > earliest:
            hole = _gap_of(lanes, y, earliest, seconds)
            if hole >= 0:
                border = lanes.since[y, hole]
        at = max(earliest, border)
        if at < begin or (at == begin and at - border < idle):
            begin, lane, gap, idle = at, y, hole, at - border
    return begin, lane, gap


@inlined
def _soonest(
    p: Problem,
    lanes: Lanes,
    t: int,
    low: int,
    high: int,
    only_mode: int,
    look: float,
    tail: Floats,
    ready: Floats,
) -> tuple[float, float, int, int, int, int]:
    """(start, seconds, worker, mode, lane, gap) where task t ends first; lane -1 for no time."""
    best, best_start, best_seconds = np.inf, 0.0, 0.0
    best_worker, best_mode, best_lane, best_gap = -1, -1, -1, -1
    for b in range(low, high):
        earliest, after = ready[b], look * tail[t, b]
        for m in range(p.mode_begin[t], p.mode_end[t]):
            seconds = p.seconds[m, b]
            if only_mode >= 0 and only_mode != m:
                continue
            if not earliest + seconds + after < best:
                continue
            begin, lane, gap = earliest, -1, -1
            if seconds != 0.0:
                begin, lane, gap = _lane_of(lanes, b, earliest, seconds)
            if begin + seconds + after < best:
                best, best_start, best_seconds = begin + seconds + after, begin, seconds
                best_worker, best_mode, best_lane, best_gap = b, m, lane, gap
    return best_start, best_seconds, best_worker, best_mode, best_lane, best_gap


@inlined
def _held_up_by(lanes: Lanes, lane: int, gap: int, start: float) -> int:
    """The task on the lane whose end is this start, or -1."""
    if lane >= 0 and gap < 0 and start == lanes.last[lane]:
        return int(lanes.last_task[lane])
    if gap >= 0 and start == lanes.since[lane, gap]:
        return int(lanes.before[lane, gap])
    return -1


@inlined
def _lateness(late: float, due: Floats, rate: Floats, t: int, end: float) -> float:
    """`late`, and what the end of task t costs by its soft and its hard date."""
    for i in range(2):
        if end > due[t, i]:
            late += rate[t, i] * (end - due[t, i]) + i * rate[t, 2]
    return late


@inner
def decode_from(p: Problem, s: Walk, first: int, limit: float, look: float) -> float:
    """The value of the trial, whose tasks before `first` are those of the current order; infinity
    as soon as it must exceed `limit`.

    Args:
        look: what a second that must follow counts when workers are compared, in [0, 1].
    """
    turn_back(s, first)
    p, lanes, trial = lent(p), lent(s.lanes), lent(s.trial)
    n, weight = len(s.order), s.makespan_weight[0]
    for x in range(first, n):
        t = s.order[x]
        low, high = 0, len(s.ready)
        if s.place[t] >= 0:
            low, high = s.place[t], s.place[t] + 1
        _arrivals(p, t, low, high, trial, s.ready)
        start, seconds, b, m, lane, gap = _soonest(
            p, lanes, t, low, high, s.pinned[t], look, s.tail, s.ready
        )
        end = start + seconds
        trial.start[t], trial.end[t], trial.worker[t], trial.mode[t] = start, end, b, m
        trial.cause[t] = _held_up_by(lanes, lane, gap, start)
        put(lanes, trial, x, t, lane, gap)
        trial.late[x + 1] = _lateness(trial.late[x], s.due, s.rate, t, end)
        trial.peak[x + 1] = max(trial.peak[x], end)
        trial.reach[x + 1] = max(trial.reach[x], end + s.tail[t, b])
        if weight * trial.reach[x + 1] + trial.late[x + 1] > limit:
            s.filled[0] = x + 1
            return np.inf
    s.filled[0] = n
    return float(weight * trial.peak[n] + trial.late[n])


@inner
def keep(s: Walk, first: int) -> None:
    """Let the decoded trial, which differs from position `first` on, be the current solution."""
    trial, now = s.trial, s.now
    n = len(s.order)
    for x in range(first, n):
        t = s.order[x]
        s.now_order[x] = t
        now.start[t], now.end[t] = trial.start[t], trial.end[t]
        now.worker[t], now.mode[t], now.cause[t] = trial.worker[t], trial.mode[t], trial.cause[t]
        now.log[x, 0], now.log[x, 1] = trial.log[x, 0], trial.log[x, 1]
        now.peak[x + 1], now.late[x + 1] = trial.peak[x + 1], trial.late[x + 1]
        now.reach[x + 1] = trial.reach[x + 1]
    s.filled[1] = n
