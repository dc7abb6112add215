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
from orchestrator_core.plan.lists.partial import (
    NOT_RATED,
    Partial,
    Weighing,
    idle_from,
    meet_inputs,
    nothing_placed,
    place,
    rate,
)


@compiled
def by_ready_list(p: Problem, rule: Weighing, given: Ints) -> tuple[Ints, Ints]:
    """(n,) order and (n,) worker of each task, by the rule of `Rule`; see there.

    Args:
        given: (n,) the order where it is known, else empty.
    """
    n = len(rule.threads)
    now = nothing_placed(p, rule)
    order, prices = np.empty(n, dtype=np.int64), np.empty(len(rule.lanes))
    missing = p.in_ptr[1:] - p.in_ptr[:-1]
    ready, count = np.empty(n, dtype=np.int64), 0
    fresh, waiting = _without_inputs(p, missing)
    changed, makespan = NOT_RATED, 0.0
    for taken in range(n):
        if len(given) > 0:
            count, waiting, fresh[0] = 0, 1, given[taken]
        if count == 0 or not rule.in_batches:
            for x in range(waiting):
                meet_inputs(p, rule, now, fresh[x])
                ready[count + x] = fresh[x]
            count, waiting = count + waiting, 0
        _rate_again(rule, now, ready[:count], changed)
        at = _most_urgent(rule, now, ready[:count], makespan, prices)
        t = ready[at]
        count -= 1
        ready[at] = ready[count]
        order[taken], changed = t, place(rule, now, t)
        makespan = max(makespan, now.end[t])
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            other = p.out_task[k]
            missing[other] -= 1
            if missing[other] == 0:
                fresh[waiting] = other
                waiting += 1
    return order, now.worker


@inner
def _without_inputs(p: Problem, missing: Ints) -> tuple[Ints, int]:
    """Room for all tasks, those that miss nothing in front; and how many they are."""
    fresh, waiting = np.empty(len(missing), dtype=np.int64), 0
    for t in p.topological:
        if missing[t] == 0:
            fresh[waiting] = t
            waiting += 1
    return fresh, waiting


@inner
def _rate_again(rule: Weighing, now: Partial, ready: Ints, changed: int) -> None:
    """Compare workers for those ready tasks that the changed worker matters to."""
    soonest = 0
    if rule.two_workers:
        for b in range(1, len(rule.lanes)):
            if now.free[b, 0] < now.free[soonest, 0]:
                soonest = b
    for t in ready:
        if rule.two_workers:
            near = now.source[t] if now.source[t] >= 0 else soonest
            able = min(rule.seconds[t, soonest], rule.seconds[t, near]) < np.inf
            rate(rule, now, t, soonest if able else -1, near)
        elif now.best[t] == NOT_RATED or now.best[t] == changed or now.second[t] == changed:
            rate(rule, now, t, -1, -1)


@inner
def _most_urgent(rule: Weighing, now: Partial, ready: Ints, makespan: float, prices: Floats) -> int:
    """The position in `ready` of the highest urgency; ties: see `Rule`."""
    best, highest = 0, -np.inf
    for x in range(len(ready)):
        value = _urgency(rule, now, ready[x], len(ready), makespan, prices)
        equal = value == highest and x > 0
        if value > highest or x == 0 or (equal and _goes_before(rule, now, ready[x], ready[best])):
            best, highest = x, value
    return best


@inner
def _urgency(
    rule: Weighing, now: Partial, t: int, count: int, makespan: float, prices: Floats
) -> float:
    weight = rule.urgency
    close = max(now.finish[t], makespan) if rule.from_makespan else now.finish[t]
    value = weight[0] * rule.rank[t] + weight[1] * close + weight[2] * now.later[t]
    value += weight[3] * now.start[t] + weight[4] * now.past[t]
    if weight[5] != 0.0:
        value += weight[5] * _kth_price(rule, now, t, count, prices)
    return float(value)


@inner
def _goes_before(rule: Weighing, now: Partial, t: int, other: int) -> bool:
    if rule.rank[t] != rule.rank[other]:
        return bool(rule.rank[t] > rule.rank[other])
    return bool(now.position[t] < now.position[other])


@inner
def _kth_price(rule: Weighing, now: Partial, t: int, k: int, prices: Floats) -> float:
    """The k-th smallest of the moments when workers are free, each plus what lies ahead there."""
    count = 0
    for b in range(len(rule.lanes)):
        if rule.seconds[t, b] < np.inf:
            value = idle_from(rule, now, t, b)
            value += rule.ahead[t, b] if len(rule.ahead) > 0 else 0.0
            x = count
            while x > 0 and prices[x - 1] > value:
                prices[x] = prices[x - 1]
                x -= 1
            prices[x] = value
            count += 1
    return float(prices[min(k, count) - 1])
