"""A partial schedule, and what each ready task would get from it. Compiled (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem

NOT_RATED = -2


class Weighing(NamedTuple):
    """The numbers of a `Rule`, and what it knows of the problem.

    Attributes:
        seconds: (n, w) in the fastest mode. threads: (n,) that each task takes.
        lanes: (w,) threads, 0 for enough. latency, per_byte: of a mean link, in seconds.
        rank: (n,). ahead: (n, w) or (0, 0).
        urgency: weights of priority, finish, second, start, past, kth.
        price: weights of begin, seconds, free. The others: see `Rule`.
    """

    seconds: Floats
    threads: Ints
    lanes: Ints
    latency: float
    per_byte: float
    rank: Floats
    ahead: Floats
    urgency: tuple[float, float, float, float, float, float]
    price: tuple[float, float, float]
    in_batches: bool
    two_workers: bool
    from_makespan: bool


class Partial(NamedTuple):
    """What is placed, and for each ready task what it would get.

    Attributes:
        worker, end: (n,) of what is placed. free: (w, lanes) when threads are free, ascending.
        arrive: (n, w) when the inputs of a task reach each worker.
        past: (n,) the longest path to it, with mean links. source: (n,) where its last input is.
        start, finish, later: (n,) of the worker it would get; its end on the second best one.
        best, second: (n,) these two workers.
        position: (n,) in the topological order.
    """

    worker: Ints
    end: Floats
    free: Floats
    arrive: Floats
    past: Floats
    source: Ints
    start: Floats
    finish: Floats
    later: Floats
    best: Ints
    second: Ints
    position: Ints


@inner
def nothing_placed(p: Problem, rule: Weighing) -> Partial:
    n, w = rule.seconds.shape
    position = np.empty(n, dtype=np.int64)
    for x in range(n):
        position[p.topological[x]] = x
    return Partial(
        worker=np.full(n, -1, dtype=np.int64),
        end=np.zeros(n),
        free=np.zeros((w, max(1, rule.lanes.max()))),
        arrive=np.empty((n, w)),
        past=np.zeros(n),
        source=np.full(n, -1, dtype=np.int64),
        start=np.empty(n),
        finish=np.empty(n),
        later=np.empty(n),
        best=np.full(n, NOT_RATED, dtype=np.int64),
        second=np.full(n, NOT_RATED, dtype=np.int64),
        position=position,
    )


@inner
def meet_inputs(p: Problem, rule: Weighing, now: Partial, t: int) -> None:
    """When the inputs of t reach each worker, the path to it, the worker of its last input."""
    now.arrive[t, :] = p.release[t]
    now.past[t] = p.release[t]
    last = -np.inf
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a, nbytes = now.worker[q], p.in_bytes[k]
        for b in range(len(rule.lanes)):
            each = p.per_byte[a, b] + p.encode[a, b]
            there = now.end[q] + (p.latency[a, b] + nbytes * each if a != b else 0.0)
            now.arrive[t, b] = max(now.arrive[t, b], there)
        way = rule.latency + nbytes * rule.per_byte
        now.past[t] = max(now.past[t], now.past[q] + rule.seconds[q, a] + way)
        if now.end[q] + way > last:
            last, now.source[t] = now.end[q] + way, a


@inner
def idle_from(rule: Weighing, now: Partial, t: int, b: int) -> float:
    """When worker b has as many free threads as t takes."""
    lanes = rule.lanes[b]
    return float(now.free[b, min(rule.threads[t], lanes) - 1]) if lanes > 0 else 0.0


@inner
def rate(rule: Weighing, now: Partial, t: int, one: int, other: int) -> None:
    """Compare workers for task t, all or only these two (-1: all). The second best is so by end."""
    first, second = -1, -1
    least, start, end, later = np.inf, np.inf, np.inf, np.inf
    for b in range(len(rule.lanes)):
        if rule.seconds[t, b] == np.inf or (one >= 0 and b != one and b != other):
            continue
        idle = idle_from(rule, now, t, b)
        begin = max(now.arrive[t, b], idle)
        close = begin + rule.seconds[t, b]
        value = rule.price[0] * begin + rule.price[1] * rule.seconds[t, b] + rule.price[2] * idle
        if len(rule.ahead) > 0:
            value += rule.ahead[t, b]
        if value < least or (value == least and close < end):
            if end < later:
                second, later = first, end
            least, start, end, first = value, begin, close, b
        elif close < later:
            second, later = b, close
    now.start[t], now.finish[t], now.later[t] = start, end, later if second >= 0 else end
    now.best[t], now.second[t] = first, second


@inner
def place(rule: Weighing, now: Partial, t: int) -> int:
    """Place t on the worker that it would get, which is returned."""
    b = now.best[t]
    now.worker[t], now.end[t] = b, now.finish[t]
    if rule.lanes[b] > 0 and rule.seconds[t, b] > 0.0:
        _take(now.free[b], rule.lanes[b], min(rule.threads[t], rule.lanes[b]), now.end[t])
    return int(b)


@inner
def _take(free: Floats, lanes: int, need: int, until: float) -> None:
    """The first `need` free threads are busy until then; they stay sorted."""
    after = need
    while after < lanes and free[after] < until:
        free[after - need] = free[after]
        after += 1
    for x in range(after - need, after):
        free[x] = until
