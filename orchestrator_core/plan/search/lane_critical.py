"""What holds up the value of the current solution, and what could be later (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.lane_walk import Walk


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
