"""walk: late acceptance over order, places and modes, through the general kernel (stage 3).

A solution is an activity list, and a worker and a mode for each task, -1 where the kernel chooses.
A change is kept if the new schedule costs no more than the last one, or than the one of so many
steps ago: E. K. Burke, Y. Bykov: The late acceptance hill-climbing heuristic. EJOR 258, 2017. No
temperature has to be fitted to an instance; when nothing better is found for long, the walk goes
back to the best schedule and looks back twice as far.

Schedules that break rules take part: each task that finds no memory, late second and missing stock
costs more than any time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.general import place_on_profiles
from orchestrator_core.plan.engine.goal import Goal, value
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, clear

CRITICAL_SHARE = 0.6
"""How often a move changes a task of the critical chain rather than any."""

IDLE = 20
"""Steps without a better schedule after which the walk begins anew, as a multiple of how far it
looks back."""


class Stock(NamedTuple):
    """consumed: (m, s) by each mode, of what may be scarce. have: (s,)."""

    consumed: Floats
    have: Floats


class Tools(NamedTuple):
    """Where the general kernel works: `sends` (0, 2) and `ahead` (0, 0) are empty."""

    profiles: Profiles
    placed: Placed
    sent: Sent
    draft: Draft
    sends: Ints
    ahead: Floats


class Walk(NamedTuple):
    """Three solutions of n tasks: the last one that was kept, the next one, and the best one.

    Attributes:
        order, worker, mode: (3, n). hopeful: (3,) 1 where memory is not reserved (`general.py`).
        cost: (3,) seconds, with penalties. breach: (3,) of the rules.
        past: (h,) costs of the last steps. state: (5,) how far it looks back, the step, the step
            of the last better schedule, tasks in the chain, and 1 if the pool was too small.
        place: (n,). chain: (n,) tasks that may be critical.
        home: (n, w) 1 where a task may run.
    """

    order: Ints
    worker: Ints
    mode: Ints
    hopeful: Ints
    cost: Floats
    breach: Floats
    past: Floats
    state: Ints
    place: Ints
    chain: Ints
    home: Ints


NOW, NEXT, BEST = 0, 1, 2


@inner
def _decode(p: Problem, x: Walk, i: int, tools: Tools) -> int:
    """Place solution i; how many tasks found room."""
    clear(tools.profiles)
    placed, sent = tools.placed, tools.sent
    for t in range(len(p.task)):
        placed.waiting[t] = p.out_ptr[t + 1] - p.out_ptr[t]
        placed.worker[t], placed.mode[t] = -1, -1
        placed.start[t], placed.end[t], placed.held_until[t] = 0.0, 0.0, 0.0
        sent.first[t] = -1
    sent.used[0] = 0
    done = place_on_profiles(
        p, x.order[i], tools.sends, p.release.copy(), x.worker[i], x.mode[i], tools.ahead, False,
        x.hopeful[i] == 0, tools.profiles, placed, sent, tools.draft,
    )  # fmt: skip
    if tools.profiles.pool[1] == 1:
        x.state[4] = 1
        return 0
    return int(done)


@inner
def _breach(p: Problem, stock: Stock, placed: Placed, done: int) -> float:
    """Tasks without room, late parts of deadlines, and missing parts of the stock."""
    missed = float(len(p.task) - done)
    for t in range(len(p.task)):
        late = placed.end[t] - p.deadline[t]
        if late > 1e-9:
            missed += late / max(1.0, p.deadline[t])
    for d in range(len(stock.have)):
        taken = 0.0
        for t in range(len(p.task)):
            if placed.mode[t] >= 0:
                taken += stock.consumed[placed.mode[t], d]
        if taken > stock.have[d]:
            missed += (taken - stock.have[d]) / max(1.0, stock.have[d])
    return missed


@inner
def _judge(
    p: Problem, goal: Goal, stock: Stock, penalty: float, x: Walk, i: int, tools: Tools
) -> None:
    """Place solution i and write what it costs."""
    done, placed = _decode(p, x, i, tools), tools.placed
    n = len(p.task)
    x.breach[i] = _breach(p, stock, placed, done)
    if done < n:
        x.cost[i] = penalty * (1.0 + x.breach[i])
    else:
        worth = value(goal, p, placed.start, placed.end, placed.worker, placed.mode)
        x.cost[i] = worth + penalty * x.breach[i]


@inner
def _follow(p: Problem, x: Walk, placed: Placed) -> None:
    """Walk back from the task that ends last, or latest after its deadline, along what it seems
    to wait for; write the tasks met into the chain."""
    n, t, worst = len(p.task), 0, -np.inf
    for other in range(n):
        late = placed.end[other]
        if placed.end[other] > p.deadline[other] + 1e-9:
            late += 1e9
        if late > worst:
            t, worst = other, late
    count = 0
    while count < n:
        x.chain[count] = t
        count += 1
        latest, before = 0.0, -1
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            a, b, there = placed.worker[q], placed.worker[t], placed.end[q]
            if a != b:
                there += p.latency[a, b] + p.in_bytes[k] * (p.per_byte[a, b] + p.encode[a, b])
            if there >= latest:
                latest, before = there, q
        if before < 0 or latest < placed.start[t] - 1e-9 * (1.0 + placed.start[t]):
            for q in range(n):
                same = placed.worker[q] == placed.worker[t] and placed.start[q] < placed.start[t]
                if same and latest <= placed.end[q] <= placed.start[t] + 1e-12:
                    latest, before = placed.end[q], q
        if before < 0:
            break
        t = before
    x.state[3] = count


@inner
def _shift(p: Problem, x: Walk, t: int) -> None:
    """Move task t of the next solution to a random place between producers and consumers."""
    low, high = 0, len(p.task) - 1
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        low = max(low, x.place[p.in_task[k]] + 1)
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        high = min(high, x.place[p.out_task[k]] - 1)
    goal = np.random.randint(low, high + 1)
    i, order = x.place[t], x.order[NEXT]
    step = 1 if goal > i else -1
    while i != goal:
        other = order[i + step]
        order[i], x.place[other] = other, i
        i += step
    order[goal], x.place[t] = t, goal


@inner
def _settle(p: Problem, x: Walk, t: int, b: int) -> None:
    """Let task t of the next solution run on worker b, if it may; b = -1 frees it."""
    if b < 0:
        x.worker[NEXT, t], x.mode[NEXT, t] = -1, -1
    elif x.home[t, b] == 1:
        x.worker[NEXT, t] = b
        m = x.mode[NEXT, t]
        if m >= 0 and p.seconds[m, b] == np.inf:
            x.mode[NEXT, t] = -1


@inner
def _change(p: Problem, x: Walk, t: int, placed: Placed) -> None:
    """One random change of task t: its place in the order, its worker, its mode."""
    draw, w = np.random.random(), len(p.worker_threads)
    modes = p.mode_end[t] - p.mode_begin[t]
    if draw < 0.5 or (w == 1 and modes == 1):
        _shift(p, x, t)
    elif modes > 1 and (draw < 0.65 or w == 1):
        m = np.random.randint(p.mode_begin[t], p.mode_end[t] + 1)
        if m == p.mode_end[t]:
            x.mode[NEXT, t] = -1
            return
        b, some = x.worker[NEXT, t], False
        for other in range(w):
            some = some or p.seconds[m, other] < np.inf
        if some:
            x.mode[NEXT, t] = m
            if b >= 0 and p.seconds[m, b] == np.inf:
                x.worker[NEXT, t] = -1
    elif draw < 0.75 and p.in_ptr[t + 1] > p.in_ptr[t]:
        q = p.in_task[np.random.randint(p.in_ptr[t], p.in_ptr[t + 1])]
        _settle(p, x, t, placed.worker[q])
    elif draw < 0.85:
        _settle(p, x, t, -1)
    else:
        _settle(p, x, t, np.random.randint(0, w))


@inner
def _copy(x: Walk, source: int, goal: int) -> None:
    x.order[goal], x.worker[goal], x.mode[goal] = x.order[source], x.worker[source], x.mode[source]
    x.hopeful[goal], x.cost[goal] = x.hopeful[source], x.cost[source]
    x.breach[goal] = x.breach[source]


@inner
def _beats(x: Walk, i: int, j: int) -> bool:
    """Is solution i better than solution j? What breaks fewer rules is, whatever it costs."""
    if x.breach[i] != x.breach[j]:
        return bool(x.breach[i] < x.breach[j])
    return bool(x.cost[i] < x.cost[j] * (1 - 1e-12))


@inner
def _keep(p: Problem, x: Walk, placed: Placed) -> None:
    """Make the next solution the present one, and the best one if it is."""
    _copy(x, NEXT, NOW)
    _follow(p, x, placed)
    if _beats(x, NOW, BEST):
        _copy(x, NOW, BEST)
        x.state[2] = x.state[1]


@inner
def _restart(x: Walk) -> None:
    """Go on from the best solution, and look back twice as far."""
    _copy(x, BEST, NOW)
    x.state[0] = min(2 * x.state[0], len(x.past))
    x.past[: x.state[0]] = x.cost[BEST]
    x.state[2] = x.state[1]


@compiled
def walk(
    p: Problem,
    goal: Goal,
    stock: Stock,
    penalty: float,
    x: Walk,
    tools: Tools,
    seed: int,
    steps: int,
    target: float,
    given: bool,
) -> int:
    """Make so many steps, or until a valid schedule costs at most `target`; how many were made.

    Args:
        penalty: more than any schedule takes, in the unit of the goal.
        given: the first step tries the next solution as it is, and keeps it if it is the best.
    """
    np.random.seed(seed)
    n, placed, scarce = len(p.task), tools.placed, False
    for b in range(len(p.worker_threads)):
        scarce = scarce or tools.profiles.limit[b, 1] < np.inf
    for number in range(steps):
        first = given and number == 0
        if not first:
            _copy(x, NOW, NEXT)
            for i in range(n):
                x.place[x.order[NEXT, i]] = i
            changes = 1
            while np.random.random() < 0.4:
                changes += 1
            for _ in range(changes):
                t = np.random.randint(0, n)
                if np.random.random() < CRITICAL_SHARE and x.state[3] > 0:
                    t = x.chain[np.random.randint(0, x.state[3])]
                _change(p, x, t, placed)
            if scarce and np.random.random() < 0.05:
                x.hopeful[NEXT] = 1 - x.hopeful[NEXT]
        _judge(p, goal, stock, penalty, x, NEXT, tools)
        slot = x.state[1] % x.state[0]
        x.state[1] += 1
        fine = x.cost[NEXT] <= x.cost[NOW] or x.cost[NEXT] <= x.past[slot]
        if first:
            fine = not _beats(x, BEST, NEXT)
        if fine:
            _keep(p, x, placed)
        x.past[slot] = x.cost[NOW]
        if x.breach[BEST] == 0.0 and x.cost[BEST] <= target:
            return number + 1
        if x.state[1] - x.state[2] > IDLE * x.state[0]:
            _restart(x)
    return steps
