"""Balanced minimum completion time: the kernel behind the hybrid heuristic HBMCT (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem

MOST_LOOKS = 20_000_000
"""After so many looks at a task in a line no task is moved any more; some 50 ms."""


@inner
def _finish(
    line: Ints, count: int, est: Floats, seconds: Floats, owner: Ints, m: int, begun: float,
    without: int, added: int,
) -> float:  # fmt: skip
    """When lane m ends its line, without one task and with another one (-1 for none)."""
    b, moment = owner[m], begun
    wanted = est[added, m] if added >= 0 else np.inf
    for x in range(count):
        t = line[x]
        if t == without:
            continue
        if est[t, m] > wanted:
            moment, wanted = max(moment, est[added, m]) + seconds[added, b], np.inf
        moment = max(moment, est[t, m]) + seconds[t, b]
    if wanted < np.inf:
        moment = max(moment, est[added, m]) + seconds[added, b]
    return float(moment)


@inner
def _enter(line: Ints, count: int, est: Floats, m: int, t: int) -> None:
    x = count
    while x > 0 and est[line[x - 1], m] > est[t, m]:
        line[x] = line[x - 1]
        x -= 1
    line[x] = t


@inner
def _leave(line: Ints, count: int, t: int) -> None:
    x = 0
    while line[x] != t:
        x += 1
    for y in range(x, count - 1):
        line[y] = line[y + 1]


@inner
def _improve(
    group: Ints, mean: Floats, line: Ints, count: Ints, est: Floats, seconds: Floats,
    owner: Ints, free: Floats, finish: Floats, looks: int,
) -> int:  # fmt: skip
    """Move tasks off the lane that ends last, as long as that helps; the looks that are left."""
    lanes = len(free)
    moved = True
    while moved and looks > 0:
        moved = False
        last = 0
        for m in range(1, lanes):
            if finish[m] > finish[last]:
                last = m
        for x in np.argsort(mean[line[last, : count[last]]], kind="mergesort"):
            t = line[last, x]
            c = count[last]
            looks -= c
            if _finish(line[last], c, est, seconds, owner, last, free[last], t, -1) >= finish[last]:
                continue
            best, least = -1, finish[last]
            for m in range(lanes):
                if m == last or seconds[t, owner[m]] == np.inf:
                    continue
                looks -= count[m]
                there = _finish(line[m], count[m], est, seconds, owner, m, free[m], -1, t)
                if there < least:
                    best, least = m, there
            if best >= 0:
                _leave(line[last], count[last], t)
                count[last] -= 1
                _enter(line[best], count[best], est, best, t)
                count[best] += 1
                for m in (last, best):
                    finish[m] = _finish(line[m], count[m], est, seconds, owner, m, free[m], -1, -1)
                moved = True
                break
    return looks


@compiled
def by_groups(p: Problem, seconds: Floats, owner: Ints, by_rank: Ints) -> tuple[Ints, Ints]:
    """(n,) order and (n,) worker of each task: groups of independent tasks, each balanced.

    Args:
        seconds: (n, w) in the fastest mode. owner: (lanes,) the worker of each lane.
        by_rank: (n,) tasks in the order of their ranks, producers before consumers.
    """
    n, lanes = len(by_rank), len(owner)
    order, worker = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    end, free = np.zeros(n), np.zeros(lanes)
    est, mean = np.zeros((n, lanes)), np.zeros(n)
    begun, group_of = 0, np.full(n, -1, dtype=np.int64)
    looks, placed, groups = MOST_LOOKS, 0, 0
    while begun < n:
        close = begun
        while close < n:
            t, fresh = by_rank[close], True
            for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                fresh = fresh and group_of[p.in_task[k]] != groups
            if not fresh:
                break
            group_of[t] = groups
            close += 1
        group = by_rank[begun:close]
        line = np.empty((lanes, close - begun), dtype=np.int64)
        count, finish = np.zeros(lanes, dtype=np.int64), free.copy()
        for t in group:
            best, least, able = -1, np.inf, 0
            mean[t] = 0.0
            for m in range(lanes):
                b = owner[m]
                at = max(p.release[t], free[m])
                for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                    q = p.in_task[k]
                    a, each = worker[q], p.per_byte[worker[q], b] + p.encode[worker[q], b]
                    way = p.latency[a, b] + p.in_bytes[k] * each if a != b else 0.0
                    at = max(at, end[q] + way)
                est[t, m] = at
                if seconds[t, b] == np.inf:
                    continue
                able += 1
                mean[t] += at
                if at + seconds[t, b] < least:
                    best, least = m, at + seconds[t, b]
            mean[t] /= able
            _enter(line[best], count[best], est, best, t)
            count[best] += 1
        for m in range(lanes):
            finish[m] = _finish(line[m], count[m], est, seconds, owner, m, free[m], -1, -1)
        looks = _improve(group, mean, line, count, est, seconds, owner, free, finish, looks)
        start = np.empty(close - begun)
        members, x = np.empty(close - begun, dtype=np.int64), 0
        for m in range(lanes):
            for i in range(count[m]):
                t = line[m, i]
                at = max(free[m], est[t, m])
                end[t], worker[t] = at + seconds[t, owner[m]], owner[m]
                free[m] = end[t]
                start[x], members[x] = at, t
                x += 1
        for i in np.argsort(start, kind="mergesort"):
            order[placed] = members[i]
            placed += 1
        begun, groups = close, groups + 1
    return order, worker
