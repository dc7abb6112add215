"""Orders of the rest that hold few bytes, for when no other order fits into memory (repair).

The relative of `engine/thrift.py` for a run that has begun: what has been made is held already.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.rest import WAITING

TASKS_TRIED = 20_000
"""Tasks in all orders together, about; there are at least 4 orders and at most 64."""


@compiled
def thrifty_rest(p: Problem, status: Ints, seed: int, careless: float) -> Ints:
    """The waiting tasks: always the ready one after which the least is held.

    Args:
        careless: part of the picks, in [0, 1], that are random.
    """
    np.random.seed(seed)
    n = len(p.task)
    order, ready, count, done = np.empty(n, np.int64), np.empty(n, np.int64), 0, 0
    missing, users = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for t in p.topological:
        if status[t] == WAITING:
            for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                users[p.in_task[k]] += 1
                missing[t] += status[p.in_task[k]] == WAITING
            if missing[t] == 0:
                ready[count] = t
                count += 1
    while count > 0:
        best, least = 0, np.inf
        if np.random.random() < careless:
            best = np.random.randint(0, count)
        else:
            for x in range(count):
                t = ready[x]
                grows = p.output_bytes[t] if users[t] > 0 else 0.0
                for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                    if users[p.in_task[k]] == 1:
                        grows -= p.output_bytes[p.in_task[k]]
                if grows < least:
                    best, least = x, grows
        t = ready[best]
        order[done] = t
        done += 1
        count -= 1
        for x in range(best, count):
            ready[x] = ready[x + 1]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            users[p.in_task[k]] -= 1
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            if status[other] == WAITING:
                missing[other] -= 1
                if missing[other] == 0:
                    ready[count] = other
                    count += 1
    return order[:done]


def thrifty_orders(p: Problem, status: Ints) -> Iterator[Ints]:
    """The greedy one, then some with more and more random picks."""
    waiting = int(np.count_nonzero(status == WAITING))
    number = max(4, min(64, TASKS_TRIED // max(1, waiting)))
    for seed in range(number):
        yield thrifty_rest(p, status, seed, 0.5 * seed / number)
