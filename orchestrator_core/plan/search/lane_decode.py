"""Decoding again from the first change on: the kernel of the search on lanes (stage 3).

The same rule as `engine/lanes.py`: each task in its turn where it ends first, gaps included. But
the lanes still hold the last trial; they are taken back along the log to where the orders part,
filled up from the log of the current solution, which needs no searching, and only what follows is
placed anew. A trial that can no longer be as good as asked is left at once.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.lane_walk import Lanes, Placed, Walk

NOTHING, APPENDED, LEFT_A_GAP, NARROWED, SPLIT, FILLED = -1, 0, 1, 2, 3, 4
"""What putting a task on a lane did to its gaps; the third column of `Placed.log`."""


@inner
def put(lanes: Lanes, placed: Placed, x: int, t: int, lane: int, gap: int) -> None:
    """Put the placed task t on its lane, behind the last end or into a gap; note it at x."""
    log, old = placed.log, placed.old
    log[x, 0], log[x, 1], log[x, 4] = lane, gap, t
    if lane < 0:
        return
    start, end = placed.start[t], placed.end[t]
    count = lanes.gaps[lane]
    since, until, before = lanes.since[lane], lanes.until[lane], lanes.before[lane]
    room = len(since)
    if gap < 0:
        old[x, 0], log[x, 3] = lanes.last[lane], lanes.last_task[lane]
        log[x, 2] = APPENDED
        if start > lanes.last[lane] and count < room:
            since[count], until[count] = lanes.last[lane], start
            before[count] = lanes.last_task[lane]
            lanes.gaps[lane] = count + 1
            log[x, 2] = LEFT_A_GAP
        lanes.last[lane], lanes.last_task[lane] = end, t
        return
    old[x, 0], old[x, 1], log[x, 3] = since[gap], until[gap], before[gap]
    if start > since[gap] and (end >= until[gap] or count == room):
        until[gap] = start
        log[x, 2] = NARROWED
    elif start > since[gap]:
        for i in range(count, gap + 1, -1):
            since[i], until[i], before[i] = since[i - 1], until[i - 1], before[i - 1]
        since[gap + 1], until[gap + 1], before[gap + 1] = end, until[gap], t
        until[gap] = start
        lanes.gaps[lane] = count + 1
        log[x, 2] = SPLIT
    elif end < until[gap]:
        since[gap], before[gap] = end, t
        log[x, 2] = NARROWED
    else:
        for i in range(gap, count - 1):
            since[i], until[i], before[i] = since[i + 1], until[i + 1], before[i + 1]
        lanes.gaps[lane] = count - 1
        log[x, 2] = FILLED


@inner
def take(lanes: Lanes, placed: Placed, x: int) -> None:
    """Take the task at position x, the last that was put, off its lane again."""
    lane, gap, what, task = placed.log[x, 0], placed.log[x, 1], placed.log[x, 2], placed.log[x, 3]
    if lane < 0:
        return
    if gap < 0:
        lanes.last[lane], lanes.last_task[lane] = placed.old[x, 0], task
        if what == LEFT_A_GAP:
            lanes.gaps[lane] -= 1
        return
    since, until, before = lanes.since[lane], lanes.until[lane], lanes.before[lane]
    count = lanes.gaps[lane]
    if what == SPLIT:
        for i in range(gap + 1, count - 1):
            since[i], until[i], before[i] = since[i + 1], until[i + 1], before[i + 1]
        lanes.gaps[lane] = count - 1
    elif what == FILLED:
        for i in range(count, gap, -1):
            since[i], until[i], before[i] = since[i - 1], until[i - 1], before[i - 1]
        lanes.gaps[lane] = count + 1
    since[gap], until[gap], before[gap] = placed.old[x, 0], placed.old[x, 1], task


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


@inner
def decode_from(p: Problem, s: Walk, first: int, limit: float, look: float) -> float:
    """The value of the trial, whose tasks before `first` are those of the current order; infinity
    as soon as it must exceed `limit`.

    Args:
        look: what a second that must follow counts when workers are compared, in [0, 1].
    """
    turn_back(s, first)
    lanes, trial = s.lanes, s.trial
    end, worker, ready = trial.end, trial.worker, s.ready
    since, until, last = lanes.since, lanes.until, lanes.last
    w, n = len(ready), len(s.order)
    makespan_weight = s.makespan_weight[0]
    for x in range(first, n):
        t = s.order[x]
        only, only_mode = s.place[t], s.pinned[t]
        low, high = 0, w
        if only >= 0:
            low, high = only, only + 1
        for b in range(low, high):
            ready[b] = p.release[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            producer, nbytes = p.in_task[k], p.in_bytes[k]
            source, done = worker[producer], end[producer]
            for b in range(low, high):
                there = done + p.latency[source, b] + nbytes * p.per_byte[source, b]
                if there > ready[b]:
                    ready[b] = there
        best, best_start, best_seconds = np.inf, 0.0, 0.0
        best_worker, best_mode, best_lane, best_gap = -1, -1, -1, -1
        for b in range(low, high):
            earliest, after = ready[b], look * s.tail[t, b]
            for m in range(p.mode_begin[t], p.mode_end[t]):
                seconds = p.seconds[m, b]
                if only_mode >= 0 and only_mode != m:
                    continue
                if not earliest + seconds + after < best:
                    continue
                begin, lane, gap, idle = np.inf, -1, -1, np.inf
                if seconds == 0.0:
                    begin = earliest
                else:
                    for y in range(lanes.ptr[b], lanes.ptr[b + 1]):
                        at, hole, border = max(earliest, last[y]), -1, last[y]
                        count = lanes.gaps[y]
                        if border > earliest and count > 0 and until[y, count - 1] > earliest:
                            i, j = 0, count - 1
                            while i < j:
                                middle = (i + j) // 2
                                if until[y, middle] > earliest:
                                    j = middle
                                else:
                                    i = middle + 1
                            while i < count and max(earliest, since[y, i]) + seconds > until[y, i]:
                                i += 1
                            if i < count:
                                hole, border = i, since[y, i]
                                at = max(earliest, border)
                        # Among equal starts, the lane that was idle for the shortest time.
                        if at < begin or (at == begin and at - border < idle):
                            begin, lane, gap, idle = at, y, hole, at - border
                if begin + seconds + after < best:
                    best, best_start, best_seconds = begin + seconds + after, begin, seconds
                    best_worker, best_mode, best_lane, best_gap = b, m, lane, gap
        ending = best_start + best_seconds
        trial.start[t], end[t] = best_start, ending
        worker[t], trial.mode[t] = best_worker, best_mode
        cause = -1
        if best_lane >= 0 and best_gap < 0 and best_start == last[best_lane]:
            cause = lanes.last_task[best_lane]
        elif best_gap >= 0 and best_start == since[best_lane, best_gap]:
            cause = lanes.before[best_lane, best_gap]
        trial.cause[t] = cause
        put(lanes, trial, x, t, best_lane, best_gap)
        late = trial.late[x]
        for i in range(2):
            if ending > s.due[t, i]:
                late += s.rate[t, i] * (ending - s.due[t, i]) + i * s.rate[t, 2]
        trial.late[x + 1] = late
        trial.peak[x + 1] = max(trial.peak[x], ending)
        trial.reach[x + 1] = max(trial.reach[x], ending + s.tail[t, best_worker])
        if makespan_weight * trial.reach[x + 1] + late > limit:
            s.filled[0] = x + 1
            return np.inf
    s.filled[0] = n
    return float(makespan_weight * trial.peak[n] + trial.late[n])


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


@inner
def find_critical(p: Problem, s: Walk) -> None:
    """Write the tasks of the current solution that hold up its value, the last placed first."""
    now, flag = s.now, s.flag
    n = len(flag)
    s.counts[2] += 1
    stamp, count = s.counts[2], 0
    slack = 1e-9 * (1.0 + now.peak[n])
    for x in range(n - 1, -1, -1):
        t = s.now_order[x]
        if s.makespan_weight[0] > 0.0 and now.end[t] >= now.peak[n] - slack:
            flag[t] = stamp
        for i in range(2):
            if s.rate[t, i] > 0.0 and now.end[t] > s.due[t, i] + slack:
                flag[t] = stamp
        if flag[t] != stamp:
            continue
        s.critical[count] = t
        count += 1
        if now.cause[t] >= 0:
            flag[now.cause[t]] = stamp
        b, needed = now.worker[t], now.start[t] - slack
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            a = now.worker[q]
            if now.end[q] + p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b] >= needed:
                flag[q] = stamp
    s.counts[0] = count


@inner
def find_latest(p: Problem, s: Walk) -> None:
    """Set `latest`: the current solution moved to the right, each lane in its order."""
    now, latest = s.now, s.latest
    n = len(latest)
    slack = 1e-9 * (1.0 + now.peak[n])
    lane = s.hold
    for x in range(n):
        lane[s.now_order[x]] = now.log[x, 0]
    free = np.full(len(s.lanes.last), now.peak[n])
    # Ties stay in the order of the turns, so that producers come before consumers.
    by_start = np.argsort(now.start[s.now_order], kind="mergesort")
    for x in range(n - 1, -1, -1):
        t = s.now_order[by_start[x]]
        a, until = now.worker[t], now.peak[n]
        if lane[t] >= 0:
            until = free[lane[t]]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            b = now.worker[c]
            begin = latest[c] - (now.end[c] - now.start[c])
            until = min(until, begin - p.latency[a, b] - p.out_bytes[k] * p.per_byte[a, b])
        latest[t] = until
        if lane[t] >= 0:
            free[lane[t]] = until - (now.end[t] - now.start[t])
    for t in range(n):
        latest[t] = max(latest[t], now.end[t]) + slack
