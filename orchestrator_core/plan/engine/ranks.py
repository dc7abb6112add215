"""Ranks: how urgent each task is, by the paths that lead from it and to it (stage 3).

Compiled; linear in edges, `optimistic_cost` times workers. Nothing here recurses, so that a chain
of any depth is fine.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem


def by_start(problem: Problem, start: Floats) -> Ints:
    """The tasks by their starts (n,) in seconds; of equal ones producers come before consumers."""
    depth = np.empty(problem.n_tasks, dtype=np.int64)
    depth[problem.topological] = np.arange(problem.n_tasks)
    return np.lexsort((depth, start)).astype(np.int64)


@compiled
def upward_rank(p: Problem, seconds: Floats, latency: float, per_byte: float) -> Floats:
    """(n,) longest path from a task's start to the last end (Topcuoglu 2002, eq. 5).

    Args:
        seconds: (n,) of each task. latency, per_byte: of each transfer.
    """
    rank = np.zeros(len(seconds))
    for x in range(len(seconds) - 1, -1, -1):
        t, most = p.topological[x], 0.0
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            most = max(most, latency + p.out_bytes[k] * per_byte + rank[p.out_task[k]])
        rank[t] = seconds[t] + most
    return rank


@compiled
def downward_rank(p: Problem, seconds: Floats, latency: float, per_byte: float) -> Floats:
    """(n,) longest path to the start of a task, releases included (Topcuoglu 2002, eq. 8)."""
    rank = p.release.copy()
    for t in p.topological:
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            there = rank[t] + seconds[t] + latency + p.out_bytes[k] * per_byte
            rank[other] = max(rank[other], there)
    return rank


@compiled
def optimistic_cost(p: Problem, seconds: Floats, latency: float, per_byte: float) -> Floats:
    """(n, w) longest of the shortest paths from a task's end on a worker (Arabnejad 2014, eq. 7).

    Args:
        seconds: (n, w) of each task on each worker, infinity where it may not run.
    """
    n, w = seconds.shape
    table = np.zeros((n, w))
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other, moved = p.out_task[k], latency + p.out_bytes[k] * per_byte
            elsewhere = np.inf
            for b in range(w):
                elsewhere = min(elsewhere, table[other, b] + seconds[other, b])
            for b in range(w):
                here = min(table[other, b] + seconds[other, b], elsewhere + moved)
                table[t, b] = max(table[t, b], here)
    return table


@compiled
def optimistic_cost_by_link(p: Problem, seconds: Floats) -> Floats:
    """(n, w) as `optimistic_cost`, with what each link between two workers takes.

    Edges times workers squared. Plus the seconds, it is the best imaginary level (Oh and Ha 1996).
    """
    n, w = seconds.shape
    table = np.zeros((n, w))
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other, nbytes = p.out_task[k], p.out_bytes[k]
            for a in range(w):
                least = table[other, a] + seconds[other, a]
                for b in range(w):
                    there = table[other, b] + seconds[other, b]
                    if b != a and there < least:
                        each = p.per_byte[a, b] + p.encode[a, b]
                        least = min(least, there + p.latency[a, b] + nbytes * each)
                table[t, a] = max(table[t, a], least)
    return table


@compiled
def chains_of(p: Problem, seconds: Floats) -> tuple[Ints, Floats]:
    """(n,) the first task of each task's chain; (n, w) seconds of what follows it in its chain.

    A chain goes on while a task has one consumer, and that one no other producer. Where a part of
    what follows may not run on a worker, its seconds there are infinite. seconds: (n, w).
    """
    n, w = seconds.shape
    head, rest = np.arange(n), np.zeros((n, w))
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        if p.out_ptr[t + 1] - p.out_ptr[t] == 1:
            after = p.out_task[p.out_ptr[t]]
            if p.in_ptr[after + 1] - p.in_ptr[after] == 1:
                rest[t] = seconds[after] + rest[after]
                head[after] = t
    for t in p.topological:
        head[t] = head[head[t]]
    return head, rest


@compiled
def strict_ends(p: Problem, seconds: Floats) -> tuple[Floats, Floats]:
    """(n,) start and end of each task if it took the worker where it ends first, as if no other
    task was there; seconds: (n, w)."""
    n, w = seconds.shape
    start, end, favourite = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    for t in p.topological:
        end[t] = np.inf
        for b in range(w):
            begin = p.release[t]
            for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                q, nbytes = p.in_task[k], p.in_bytes[k]
                a, there = favourite[q], end[q]
                if a != b:
                    there += p.latency[a, b] + nbytes * (p.per_byte[a, b] + p.encode[a, b])
                begin = max(begin, there)
            if begin + seconds[t, b] < end[t]:
                start[t], end[t], favourite[t] = begin, begin + seconds[t, b], b
    return start, end


@compiled
def latest_ends(p: Problem, seconds: Floats) -> Floats:
    """(n,) deadlines, tightened to what the deadlines of later tasks leave; seconds: (n,) best."""
    latest = p.deadline.copy()
    for x in range(len(seconds) - 1, -1, -1):
        t = p.topological[x]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            latest[t] = min(latest[t], latest[other] - seconds[other])
    return latest


@compiled
def ready_order(p: Problem, priority: Floats) -> Ints:
    """(n,) again and again the most urgent task whose producers are all taken; ties by position.

    The ready tasks are a binary heap; position is that in the topological order.
    """
    n = len(priority)
    position = np.empty(n, dtype=np.int64)
    for x in range(n):
        position[p.topological[x]] = x
    missing = p.in_ptr[1:] - p.in_ptr[:-1]
    heap, size = np.empty(n, dtype=np.int64), 0
    order = np.empty(n, dtype=np.int64)
    for t in p.topological:
        if missing[t] == 0:
            size = _push(heap, size, t, priority, position)
    taken = 0
    while size > 0:
        t = heap[0]
        size = _pop(heap, size, priority, position)
        order[taken] = t
        taken += 1
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            missing[other] -= 1
            if missing[other] == 0:
                size = _push(heap, size, other, priority, position)
    return order


@compiled
def _before(a: int, b: int, priority: Floats, position: Ints) -> bool:
    if priority[a] != priority[b]:
        return bool(priority[a] > priority[b])
    return bool(position[a] < position[b])


@compiled
def _push(heap: Ints, size: int, t: int, priority: Floats, position: Ints) -> int:
    i = size
    while i > 0 and _before(t, heap[(i - 1) // 2], priority, position):
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = t
    return size + 1


@compiled
def _pop(heap: Ints, size: int, priority: Floats, position: Ints) -> int:
    size -= 1
    t, i = heap[size], 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _before(heap[child + 1], heap[child], priority, position):
            child += 1
        if not _before(heap[child], t, priority, position):
            break
        heap[i] = heap[child]
        i = child
    heap[i] = t
    return size


@compiled
def depth_first_order(p: Problem, priority: Floats) -> Ints:
    """(n,) the most urgent last task behind all that it needs, then the next; ties by position.

    Before a task come its producers, the most urgent first, each behind all that it needs: so an
    output waits for its consumers as briefly as the order allows, and memory is free again soon.
    """
    n = len(priority)
    order, taken = np.empty(n, dtype=np.int64), 0
    # 0: not met; 1: its producers are on the stack; 2: in the order
    state = np.zeros(n, dtype=np.int8)
    stack = np.empty(n + len(p.in_task), dtype=np.int64)
    sinks = np.array([t for t in p.topological if p.out_ptr[t] == p.out_ptr[t + 1]])
    for sink in sinks[np.argsort(-priority[sinks], kind="mergesort")]:
        stack[0], size = sink, 1
        while size > 0:
            t = stack[size - 1]
            if state[t] == 0:
                state[t] = 1
                producers = p.in_task[p.in_ptr[t] : p.in_ptr[t + 1]]
                for x in np.argsort(priority[producers], kind="mergesort"):
                    if state[producers[x]] == 0:
                        stack[size] = producers[x]
                        size += 1
            else:
                size -= 1
                if state[t] == 1:
                    state[t] = 2
                    order[taken] = t
                    taken += 1
    return order
