"""Solutions of the walk over order, places and modes: what they are, and what they cost."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.general import place_on_profiles
from orchestrator_core.plan.engine.goal import Goal, value
from orchestrator_core.plan.engine.placing import Draft, Placed, Sent
from orchestrator_core.plan.engine.profiles import Profiles, clear

NOW, NEXT, BEST = 0, 1, 2
"""Rows of `Walk`."""


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
def judge(
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
