"""Configurations: the sets of whole tasks that a worker has room for. Compiled (stage 3).

The window program splits tasks over workers, and so does not see that of three tasks of half of the
time and a little more two must share one of two workers. Here none is split: each task has a price,
and each worker holds the dearest set that it has room for. If all of them together hold less than
the prices of all tasks add up to, the tasks do not fit. Which prices to try is what the linear
program over such sets says, whose columns are found one by one: P. C. Gilmore and R. E. Gomory, A
linear programming approach to the cutting-stock problem (1961); J. Verschae and A. Wiese, On the
configuration-LP for scheduling on unrelated machines (2014).

Room is time between the first head and each task's own tail, so that a set fits if it does in the
order of its due dates; the dearest one is found as E. L. Lawler and J. M. Moore do (A functional
equation and its application to resource allocation and sequencing problems, 1969).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.elimination import Program
from orchestrator_core.plan.bounds.interior import solve
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import compiled, inner

TOTAL = 4_096
"""What the prices of all tasks add up to, about. They are whole numbers, so that what a worker
holds is known exactly."""

TOLERANCE = 1e-3
"""On the part of a task that no worker has room for, in the linear program."""


class Rooms(NamedTuple):
    """What may run on each worker, and until when.

    Attributes:
        first: (w + 1,) those of worker b are ``first[b]`` up to, without, ``first[b + 1]``.
        task: (k,) positions among the tasks that have prices. work, due: (k,) seconds; by `due`
            within a worker.
    """

    first: Ints
    task: Ints
    work: Floats
    due: Floats


class Found(NamedTuple):
    """Configurations, as many as `many[0]`.

    Attributes:
        worker: (m,). holds: (m, n) which tasks.
    """

    many: Ints
    worker: Ints
    holds: Flags


@compiled
def overfilling(first: Ints, task: Ints, work: Floats, due: Floats, n: int, rounds: int) -> Ints:
    """(n,) prices >= 0 of which all workers hold less than they add up to, or zeros: there may be
    none.

    Args:
        first, task, work, due: see `Rooms`.
        rounds: linear programs that are solved, at most.
    """
    rooms, workers = Rooms(first, task, work, due), len(first) - 1
    most = workers * (rounds + 1)
    found = Found(
        np.zeros(1, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.zeros((most, n), dtype=np.bool_),
    )
    prices = np.full(n, max(1, TOTAL // n))
    for _ in range(rounds):
        if _held(rooms, prices, found) < prices.sum():
            return prices
        y = np.zeros(n)
        if _uncovered(found, n, workers, y) < TOLERANCE:
            break
        prices = np.rint(y * (TOTAL / y.sum())).astype(np.int64)
    return np.zeros(n, dtype=np.int64)


@inner
def _held(rooms: Rooms, prices: Ints, found: Found) -> int:
    """What all workers hold, each the dearest configuration, which is added to those found."""
    held = 0
    for b in range(len(rooms.first) - 1):
        row = found.holds[found.many[0]]
        row[:] = False
        held += _dearest(rooms, b, prices, row)
        if _is_new(found, b, row):
            found.worker[found.many[0]] = b
            found.many[0] += 1
    return held


@inner
def _dearest(rooms: Rooms, b: int, prices: Ints, row: Flags) -> int:
    """The highest price of tasks that worker b has room for; which they are is put into `row`."""
    low, high = rooms.first[b], rooms.first[b + 1]
    most = 0
    for k in range(low, high):
        most += prices[rooms.task[k]]
    done = np.full(most + 1, np.inf)  # the least work of a set, by its price
    last = np.zeros((high - low, most + 1), dtype=np.bool_)
    done[0], top = 0.0, 0
    for k in range(low, high):
        price, so_far = prices[rooms.task[k]], top
        if price == 0:
            continue
        for x in range(so_far, -1, -1):
            end = done[x] + rooms.work[k]
            if end <= rooms.due[k] and end < done[x + price]:
                done[x + price], last[k - low, x + price] = end, True
                top = max(top, x + price)
    x = top
    for k in range(high - 1, low - 1, -1):
        if last[k - low, x]:
            row[rooms.task[k]] = True
            x -= prices[rooms.task[k]]
    return top


@inner
def _is_new(found: Found, b: int, row: Flags) -> bool:
    for k in range(found.many[0]):
        if found.worker[k] == b and (found.holds[k] == row).all():
            return False
    return True


@inner
def _uncovered(found: Found, n: int, workers: int, y: Floats) -> float:
    """The part of some task that is left over, at least, however the workers share their time among
    these configurations; `y` are the prices that prove it."""
    count = found.many[0]
    # Beside those that were found, each worker has the empty one.
    first, ptr = (
        np.zeros(workers + 1, dtype=np.int64),
        np.zeros(count + workers + 1, dtype=np.int64),
    )
    row, at, v = np.empty(found.holds[:count].sum(), dtype=np.int64), 0, 0
    for b in range(workers):
        for k in range(count):
            if found.worker[k] == b:
                for t in range(n):
                    if found.holds[k, t]:
                        row[at] = t
                        at += 1
                v += 1
                ptr[v] = at
        v += 1
        ptr[v] = at
        first[b + 1] = v
    program = Program(first, ptr, row, np.full(at, -1.0), np.ones(n), np.full(n, -1.0))
    return solve(program, 0.3 * TOLERANCE, np.inf, np.empty(v), y)
