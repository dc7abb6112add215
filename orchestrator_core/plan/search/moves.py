"""Compiled moves of the local search: change a few places and priorities, decode, keep or drop.

A solution is a key for each task (larger keys go first, as far as producers allow) and a worker
for each task, or -1 where the decoder chooses. Every solution decodes to a valid schedule.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.lanes import place_on_lanes

CRITICAL_SHARE = 0.7
"""How often a move changes a task of the critical path rather than any."""

SHIFT = 0.08
"""Standard deviation of a change of priority, as a part of all tasks."""

CHANGES = 3
"""Most tasks that one move changes."""


@inner
def order_by_keys(p: Problem, key: Floats) -> Ints:
    """The tasks by falling key, after every key was lowered below those of its producers."""
    for t in p.topological:
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            limit = key[p.in_task[k]]
            if key[t] >= limit:
                key[t] = limit - 1e-6 * (1.0 + abs(limit))
    return np.argsort(-key)


@inner
def critical_tasks(p: Problem, start: Floats, end: Floats, worker: Ints, found: Ints) -> int:
    """Write the tasks without slack into `found`, the last first; returns how many there are."""
    n = len(start)
    makespan = end.max()
    slack = 1e-9 * (1.0 + makespan)
    marked = np.zeros(n, dtype=np.bool_)
    count = 0
    by_end = np.argsort(-end)
    for t in by_end:
        if end[t] >= makespan - slack:
            marked[t] = True
        if not marked[t]:
            continue
        found[count] = t
        count += 1
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            a = p.in_task[k]
            way = 0.0
            if worker[a] != worker[t]:
                pair = worker[a], worker[t]
                way = p.latency[pair] + p.in_bytes[k] * p.per_byte[pair]
            if end[a] + way >= start[t] - slack:
                marked[a] = True
        for other in by_end:
            if worker[other] == worker[t] and abs(end[other] - start[t]) <= slack:
                marked[other] = True
    return count


@inner
def change(p: Problem, may_run: Floats, t: int, key: Floats, worker: Ints, placed: Ints) -> None:
    """One random change of one task: its priority, or where it runs."""
    draw = np.random.random()
    if draw < 0.4:
        key[t] += np.random.normal(0.0, SHIFT) * len(key)
    elif draw < 0.6 and p.in_ptr[t + 1] > p.in_ptr[t]:
        near = placed[p.in_task[np.random.randint(p.in_ptr[t], p.in_ptr[t + 1])]]
        if may_run[t, near]:
            worker[t] = near
    elif draw < 0.75:
        worker[t] = -1
    else:
        elsewhere = np.random.randint(0, len(p.worker_threads))
        if may_run[t, elsewhere]:
            worker[t] = elsewhere


@compiled
def search(
    p: Problem,
    may_run: Floats,
    seed: int,
    steps: int,
    temperature: float,
    target: float,
    key: Floats,
    worker: Ints,
    best_key: Floats,
    best_worker: Ints,
) -> float:
    """Make `steps` moves from (`key`, `worker`), both changed in place; the best seen is kept.

    A longer schedule is accepted with probability ``exp(-excess / (temperature * best))``.

    Args:
        may_run: (n, w) 1 where a task may run.
        target: stop at this makespan, in seconds.

    Returns the makespan of (`best_key`, `best_worker`), in seconds.
    """
    np.random.seed(seed)
    n = len(key)
    start, end = np.zeros(n), np.zeros(n)
    placed, mode = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    any_mode, ahead = np.full(n, -1, dtype=np.int64), np.zeros((0, 0))
    critical = np.zeros(n, dtype=np.int64)

    order = order_by_keys(p, best_key)
    place_on_lanes(p, order, best_worker, any_mode, ahead, True, False, start, end, placed, mode)
    best = end.max()
    order = order_by_keys(p, key)
    place_on_lanes(p, order, worker, any_mode, ahead, True, False, start, end, placed, mode)
    current = end.max()
    n_critical = critical_tasks(p, start, end, placed, critical)
    where = placed.copy()
    for _ in range(steps):
        if best <= target:
            break
        new_key, new_worker = key.copy(), worker.copy()
        for _ in range(1 + np.random.randint(0, CHANGES)):
            t = np.random.randint(0, n)
            if np.random.random() < CRITICAL_SHARE:
                t = critical[np.random.randint(0, n_critical)]
            change(p, may_run, t, new_key, new_worker, where)
        order = order_by_keys(p, new_key)
        place_on_lanes(p, order, new_worker, any_mode, ahead, True, False, start, end, placed, mode)
        makespan = end.max()
        excess = makespan - current
        if excess > 0 and np.random.random() >= np.exp(-excess / (temperature * best)):
            continue
        current = makespan
        key[:], worker[:], where[:] = new_key, new_worker, placed
        n_critical = critical_tasks(p, start, end, placed, critical)
        if makespan < best - 1e-12:
            best = makespan
            best_key[:], best_worker[:] = new_key, new_worker
    return float(best)
