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

import numpy as np

from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.goal import Goal
from orchestrator_core.plan.engine.placing import Placed
from orchestrator_core.plan.search.general_moves import change, follow
from orchestrator_core.plan.search.general_solution import (
    BEST,
    NEXT,
    NOW,
    Stock,
    Tools,
    Walk,
    judge,
)

CRITICAL_SHARE = 0.6
"""How often a move changes a task of the critical chain rather than any."""

IDLE = 20
"""Steps without a better schedule after which the walk begins anew, as a multiple of how far it
looks back."""


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
    follow(p, x, placed)
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


@inner
def _vary(p: Problem, x: Walk, placed: Placed, scarce: bool) -> None:
    """Let the next solution be the present one with a few changes.

    Args:
        scarce: is memory?
    """
    _copy(x, NOW, NEXT)
    n = len(p.task)
    for i in range(n):
        x.place[x.order[NEXT, i]] = i
    changes = 1
    while np.random.random() < 0.4:
        changes += 1
    for _ in range(changes):
        t = np.random.randint(0, n)
        if np.random.random() < CRITICAL_SHARE and x.state[3] > 0:
            t = x.chain[np.random.randint(0, x.state[3])]
        change(p, x, t, placed)
    if scarce and np.random.random() < 0.05:
        x.hopeful[NEXT] = 1 - x.hopeful[NEXT]


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
    p, x = lent(p), lent(x)
    placed, scarce = lent(tools.placed), False
    for b in range(len(p.worker_threads)):
        scarce = scarce or tools.profiles.limit[b, 1] < np.inf
    for number in range(steps):
        first = given and number == 0
        if not first:
            _vary(p, x, placed, scarce)
        judge(p, goal, stock, penalty, x, NEXT, tools)
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
