"""Orders that hold few bytes, for instances in which memory is scarce (stage 3).

Greedy: among the tasks that are ready, the one after which the least is held. It is the simple
relative of pebbling (J. W. H. Liu: An application of generalized tree pebbling to sparse matrix
factorization. SIAM J. Algebraic Discrete Methods 8, 1987), and exact neither for trees nor for
graphs; so orders with some random picks are there too, to be tried one after another.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import depth_first_order

MOST_TASKS = 20_000
"""Beyond, only one thrifty order is tried: each takes quadratic time where much is ready."""


@compiled
def thrifty_order(p: Problem, seed: int, careless: float) -> Ints:
    """(n,) always the ready task after which the least is held; ties to the smaller output.

    Args:
        careless: part of the picks, in [0, 1], that are random.
    """
    np.random.seed(seed)
    n = len(p.task)
    order, ready, count = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), 0
    missing, waiting = p.in_ptr[1:] - p.in_ptr[:-1], p.out_ptr[1:] - p.out_ptr[:-1]
    for t in p.topological:
        if missing[t] == 0:
            ready[count] = t
            count += 1
    for i in range(n):
        best, least, size = 0, np.inf, np.inf
        if np.random.random() < careless:
            best = np.random.randint(0, count)
        else:
            for x in range(count):
                t = ready[x]
                grows = p.output_bytes[t] if waiting[t] > 0 else 0.0
                for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                    if waiting[p.in_task[k]] == 1:
                        grows -= p.output_bytes[p.in_task[k]]
                if grows < least or (grows == least and p.output_bytes[t] < size):
                    best, least, size = x, grows, p.output_bytes[t]
        t = ready[best]
        order[i] = t
        for x in range(best, count - 1):
            ready[x] = ready[x + 1]
        count -= 1
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            waiting[p.in_task[k]] -= 1
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            missing[p.out_task[k]] -= 1
            if missing[p.out_task[k]] == 0:
                ready[count] = p.out_task[k]
                count += 1
    return order


def thrifty_choices(problem: Problem, careless: int = 3) -> Iterator[Choice]:
    """Orders that hold few bytes: on any workers, and one after the other on a single one.

    On a single worker nothing is sent, so that what is held is what the order says: if there is
    room for one of these orders on a worker that may run all tasks, that one finds it.

    Args:
        careless: how many orders with random picks.
    """
    orders = list(_orders(problem, careless if problem.n_tasks <= MOST_TASKS else 0))
    for order in orders:
        yield Choice(order)
    for b in homes(problem):
        worker = np.where(np.isfinite(best_seconds(problem)[:, b]), b, -1)
        for order in orders:
            yield Choice(order, worker=worker)


def homes(problem: Problem, most: int = 4) -> Ints:
    """The workers that may run the most tasks; among equals, those with more memory first."""
    runs = np.isfinite(best_seconds(problem)).sum(axis=0)
    order = np.lexsort((np.arange(problem.n_workers), -problem.worker_memory, -runs))
    return np.asarray(order[: min(most, int((runs == runs.max()).sum()))], dtype=np.int64)


def _orders(problem: Problem, careless: int) -> Iterator[Ints]:
    n = problem.n_tasks
    if n <= MOST_TASKS:
        yield thrifty_order(problem, 0, 0.0)
    yield np.array(problem.topological)
    yield depth_first_order(problem, np.arange(n, dtype=np.float64))
    for k in range(careless):
        yield thrifty_order(problem, k + 1, 0.1)
