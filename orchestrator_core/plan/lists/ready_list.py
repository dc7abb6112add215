"""The kernel of the dynamic list heuristics: pick a ready task and its worker, n times (stage 3).

It keeps, for each ready task, when its inputs reach each worker, and the worker that it would get
now. Placing a task changes what one worker offers, so that only the tasks which had that worker
as their best or second best are looked at again: about 2 / w of them.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem


@inner
def _rate(
    t: int, seconds: Floats, ahead: Floats, price: tuple[float, float, float], need: int,
    arrive: Floats, free: Floats, lanes: Ints, candidates: tuple[int, int], facts: Floats,
    chosen: Ints,
) -> None:  # fmt: skip
    """Compare workers for task t: its (best worker, second best worker) into `chosen`, their
    (start, end, second end) into `facts`. Second best is by end."""
    first, second = -1, -1
    least, start, end, later = np.inf, np.inf, np.inf, np.inf
    for b in range(seconds.shape[1]):
        if seconds[t, b] == np.inf:
            continue
        if candidates[0] >= 0 and b != candidates[0] and b != candidates[1]:
            continue
        idle = free[b, min(need, lanes[b]) - 1] if lanes[b] > 0 else 0.0
        begin = max(arrive[t, b], idle)
        close = begin + seconds[t, b]
        value = price[0] * begin + price[1] * seconds[t, b] + price[2] * idle
        if len(ahead) > 0:
            value += ahead[t, b]
        if value < least or (value == least and close < end):
            if end < later:
                second, later = first, end
            least, start, end, first = value, begin, close, b
        elif close < later:
            second, later = b, close
    facts[t, 0], facts[t, 1], facts[t, 2] = start, end, later if second >= 0 else end
    chosen[t, 0], chosen[t, 1] = first, second


@inner
def _kth_price(
    t: int, k: int, seconds: Floats, ahead: Floats, need: int, free: Floats, lanes: Ints,
    prices: Floats,
) -> float:  # fmt: skip
    """The k-th smallest of the moments when workers are free, each plus what lies ahead there."""
    count = 0
    for b in range(seconds.shape[1]):
        if seconds[t, b] < np.inf:
            idle = free[b, min(need, lanes[b]) - 1] if lanes[b] > 0 else 0.0
            value = idle + (ahead[t, b] if len(ahead) > 0 else 0.0)
            x = count
            while x > 0 and prices[x - 1] > value:
                prices[x] = prices[x - 1]
                x -= 1
            prices[x] = value
            count += 1
    return float(prices[min(k, count) - 1])


@inner
def _arrivals(
    p: Problem, t: int, seconds: Floats, link: tuple[float, float], end: Floats, worker: Ints,
    arrive: Floats, past: Floats,
) -> int:  # fmt: skip
    """When the inputs of t reach each worker, the path to it; the worker of its last input."""
    w = seconds.shape[1]
    arrive[t, :] = p.release[t]
    past[t] = p.release[t]
    last, source = -np.inf, -1
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a, nbytes = worker[q], p.in_bytes[k]
        for b in range(w):
            each = p.per_byte[a, b] + p.encode[a, b]
            there = end[q] + (p.latency[a, b] + nbytes * each if a != b else 0.0)
            arrive[t, b] = max(arrive[t, b], there)
        way = link[0] + nbytes * link[1]
        past[t] = max(past[t], past[q] + seconds[q, a] + way)
        if end[q] + way > last:
            last, source = end[q] + way, a
    return source


@inner
def _take(free: Floats, b: int, lanes: int, need: int, until: float) -> None:
    """Worker b's first `need` free threads are busy until then; they stay sorted."""
    after = need
    while after < lanes and free[b, after] < until:
        free[b, after - need] = free[b, after]
        after += 1
    for x in range(after - need, after):
        free[b, x] = until


@compiled
def by_ready_list(
    p: Problem, seconds: Floats, threads: Ints, lanes: Ints, link: tuple[float, float],
    rank: Floats, ahead: Floats, urgency: tuple[float, float, float, float, float, float],
    price: tuple[float, float, float], in_batches: bool, two_workers: bool, from_makespan: bool,
    given: Ints,
) -> tuple[Ints, Ints]:  # fmt: skip
    """(n,) order and (n,) worker of each task, by the rule of `Rule`; see there.

    Args:
        seconds: (n, w) in the fastest mode. threads: (n,) that each task takes.
        lanes: (w,) threads, 0 for enough. link: mean latency and seconds per byte.
        rank: (n,). ahead: (n, w) or (0, 0). urgency, price: the weights of the rule.
        given: (n,) the order where it is known, else empty.
    """
    n, w = seconds.shape
    order, worker = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    free = np.zeros((w, max(1, lanes.max())))
    arrive, past, end = np.empty((n, w)), np.zeros(n), np.zeros(n)
    facts, chosen = np.empty((n, 3)), np.empty((n, 2), dtype=np.int64)
    source, position = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    missing = p.in_ptr[1:] - p.in_ptr[:-1]
    ready, count = np.empty(n, dtype=np.int64), 0
    fresh, waiting = np.empty(n, dtype=np.int64), 0
    prices = np.empty(w)
    for x in range(n):
        position[p.topological[x]] = x
        if missing[p.topological[x]] == 0:
            fresh[waiting] = p.topological[x]
            waiting += 1
    changed, makespan = -1, 0.0
    for taken in range(n):
        if len(given) > 0:
            count, waiting, fresh[0] = 0, 1, given[taken]
        if count == 0 or not in_batches:
            for x in range(waiting):
                t = fresh[x]
                source[t] = _arrivals(p, t, seconds, link, end, worker, arrive, past)
                chosen[t, 0] = -2
                ready[count + x] = t
            count, waiting = count + waiting, 0
        soonest = 0
        if two_workers:
            for b in range(1, w):
                if free[b, 0] < free[soonest, 0]:
                    soonest = b
        best, highest = -1, -np.inf
        for x in range(count):
            t = ready[x]
            stale = chosen[t, 0] < 0 or chosen[t, 0] == changed or chosen[t, 1] == changed
            if stale or two_workers:
                candidates = (-1, -1)
                if two_workers:
                    near = source[t] if source[t] >= 0 else soonest
                    if min(seconds[t, soonest], seconds[t, near]) < np.inf:
                        candidates = (soonest, near)
                need = threads[t]
                _rate(
                    t, seconds, ahead, price, need, arrive, free, lanes, candidates, facts, chosen,
                )  # fmt: skip
            close = max(facts[t, 1], makespan) if from_makespan else facts[t, 1]
            value = urgency[0] * rank[t] + urgency[1] * close + urgency[2] * facts[t, 2]
            value += urgency[3] * facts[t, 0] + urgency[4] * past[t]
            if urgency[5] != 0.0:
                k = _kth_price(t, count, seconds, ahead, threads[t], free, lanes, prices)
                value += urgency[5] * k
            if best >= 0 and value == highest:
                other = ready[best]
                if rank[t] < rank[other]:
                    continue
                if rank[t] == rank[other] and position[t] > position[other]:
                    continue
            if best < 0 or value >= highest:
                best, highest = x, value
        t = ready[best]
        count -= 1
        ready[best] = ready[count]
        b = chosen[t, 0]
        order[taken], worker[t], end[t] = t, b, facts[t, 1]
        if lanes[b] > 0 and seconds[t, b] > 0.0:
            _take(free, b, lanes[b], min(threads[t], lanes[b]), end[t])
        changed, makespan = b, max(makespan, end[t])
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            missing[other] -= 1
            if missing[other] == 0:
                fresh[waiting] = other
                waiting += 1
    return order, worker
