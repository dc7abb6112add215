"""Balanced minimum completion time: the kernel behind the hybrid heuristic HBMCT (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.lists.lines import Lines, balance, end_of, enter

MOST_LOOKS = 20_000_000
"""After so many looks at a task in a line no task is moved any more; some 50 ms."""


@compiled
def by_groups(p: Problem, seconds: Floats, owner: Ints, by_rank: Ints) -> tuple[Ints, Ints]:
    """(n,) order and (n,) worker of each task: groups of independent tasks, each balanced.

    Args:
        seconds: (n, w) in the fastest mode. owner: (lanes,) the worker of each lane.
        by_rank: (n,) tasks in the order of their ranks, producers before consumers.
    """
    n, lanes = len(by_rank), len(owner)
    order, worker = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    end, free, group_of = np.zeros(n), np.zeros(lanes), np.full(n, -1, dtype=np.int64)
    ready, mean = np.zeros((n, lanes)), np.zeros(n)
    looks, begun = MOST_LOOKS, 0
    while begun < n:
        close = _end_of_group(p, by_rank, begun, group_of)
        task, length = np.empty((lanes, close - begun), dtype=np.int64), np.zeros_like(owner)
        lines = Lines(seconds, owner, ready, mean, task, length, free, np.empty(lanes))
        for t in by_rank[begun:close]:
            _line_up(p, lines, t, end, worker)
        for m in range(lanes):
            lines.finish[m] = end_of(lines, m, -1, -1)
        looks = balance(lines, looks)
        _place(lines, end, worker, order[begun:close])
        begun = close
    return order, worker


@inner
def _end_of_group(p: Problem, by_rank: Ints, begun: int, group_of: Ints) -> int:
    """Where the first task stands that needs one of those from `begun` on."""
    for close in range(begun, len(by_rank)):
        t = by_rank[close]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            if group_of[p.in_task[k]] == begun:
                return close
        group_of[t] = begun
    return len(by_rank)


@inner
def _line_up(p: Problem, lines: Lines, t: int, end: Floats, worker: Ints) -> None:
    """In the line of the lane where t would end first if it were alone."""
    best, least, able = -1, np.inf, 0
    lines.mean[t] = 0.0
    for m in range(len(lines.owner)):
        b = lines.owner[m]
        at = max(p.release[t], lines.free[m])
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            a, each = worker[q], p.per_byte[worker[q], b] + p.encode[worker[q], b]
            way = p.latency[a, b] + p.in_bytes[k] * each if a != b else 0.0
            at = max(at, end[q] + way)
        lines.ready[t, m] = at
        if lines.seconds[t, b] < np.inf:
            able += 1
            lines.mean[t] += at
            if at + lines.seconds[t, b] < least:
                best, least = m, at + lines.seconds[t, b]
    lines.mean[t] /= able
    enter(lines, best, t)


@inner
def _place(lines: Lines, end: Floats, worker: Ints, order: Ints) -> None:
    """Run the lines: `end`, `worker` and `free` are filled, `order` is by start."""
    start, members = np.empty(len(order)), np.empty(len(order), dtype=np.int64)
    x = 0
    for m in range(len(lines.owner)):
        for i in range(lines.length[m]):
            t, b = lines.task[m, i], lines.owner[m]
            start[x], members[x] = max(lines.free[m], lines.ready[t, m]), t
            end[t], worker[t] = start[x] + lines.seconds[t, b], b
            lines.free[m] = end[t]
            x += 1
    order[:] = members[np.argsort(start, kind="mergesort")]
