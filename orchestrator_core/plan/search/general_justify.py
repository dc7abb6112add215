"""A schedule of a project bettered where it stands: justified, and with other alternatives.

Justification to the right and to the left again is never longer: V. Valls, F. Ballestin,
S. Quintanilla: Justification and RCPSP: a technique that pays. EJOR 165, 2005. The local search
over alternatives is like that of M. J. Geiger: A multi-threaded local search algorithm and computer
implementation for the multi-mode, resource-constrained multi-project scheduling problem. EJOR 256,
2017.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.goal import Goal, value
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.engine.serial import Ground, place_in_project
from orchestrator_core.plan.search.general_population import Population

SORTED_BY_INSERTION = 400
"""Up to this many tasks, nearly sorted rows are sorted by insertion."""

TRIED, PLACED = 0.5, 10_000
"""Changes that a polish tries, for each task; and the most tasks that it places for them, so that
one child is not a matter of seconds."""

PARTNERS = 20
"""Random changes of other tasks that are looked at for one that leaves enough of the stock."""


@inner
def sort_by(order: Ints, key: Floats) -> None:
    """Sort the order by rising key, stable, in place."""
    n = len(order)
    if n > SORTED_BY_INSERTION:
        order[:] = order[np.argsort(key[order], kind="mergesort")]
        return
    for i in range(1, n):
        t, j = order[i], i
        while j > 0 and key[order[j - 1]] > key[t]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = t


@inner
def turn(order: Ints) -> None:
    """Reverse the order, in place."""
    n = len(order)
    for i in range(n // 2):
        order[i], order[n - 1 - i] = order[n - 1 - i], order[i]


@inner
def breach(p: Project, ground: Ground) -> float:
    """How far deadlines and stock are missed; 0 for a valid schedule."""
    missed = 0.0
    for t in range(len(ground.end)):
        late = ground.end[t] - p.deadline[t]
        if late > 1e-9:
            missed += late / max(1.0, p.deadline[t])
    for d in range(len(p.stock)):
        taken = 0.0
        for t in range(len(ground.end)):
            taken += p.consumed[ground.chosen[t], d]
        if taken > p.stock[d]:
            missed += 1.0 + (taken - p.stock[d]) / max(1.0, p.stock[d])
    return missed


@inner
def worth(p: Project, problem: Problem, goal: Goal, ground: Ground, z: Population) -> float:
    """The value of the schedule on the ground; overwrites what the population computes with."""
    for t in range(len(ground.end)):
        z.place[t], z.ready[t] = p.worker[ground.chosen[t]], p.mode[ground.chosen[t]]
    return value(goal, problem, ground.start, ground.end, z.place, z.ready)


@inner
def justify(p: Project, last: float, z: Population, ground: Ground) -> float:
    """Shift all tasks of the schedule to the right, then to the left; the last end.

    The child becomes the order of the new schedule. Writes how far each task can be shifted.
    """
    for t in range(len(z.child)):
        z.fixed[t] = ground.chosen[t]
        z.earliest[t] = max(0.0, last - p.deadline[t])
    sort_by(z.child, ground.end)
    turn(z.child)
    last = place_in_project(p, z.child, z.fixed, z.earliest, False, ground)
    for t in range(len(z.child)):
        z.slack[t] = last - ground.end[t]
    sort_by(z.child, ground.end)
    turn(z.child)
    last = place_in_project(p, z.child, z.fixed, z.release, True, ground)
    for t in range(len(z.child)):
        z.slack[t] -= ground.start[t]
    return last


@inner
def _excess(
    p: Project, z: Population, t: int, then: int, u: int, other: int, spare: Floats
) -> bool:
    """Is the stock exceeded if two tasks change their alternatives so? u = t for only one."""
    for d in range(len(spare)):
        more = p.consumed[then, d] - p.consumed[z.fixed[t], d]
        if u != t:
            more += p.consumed[other, d] - p.consumed[z.fixed[u], d]
        if more > 0.0 and more > spare[d]:
            return True
    return False


@inner
def _partner(p: Project, z: Population, t: int, then: int, spare: Floats) -> tuple[int, int]:
    """A task, and an alternative of it that it has time for, which leaves the stock enough for t;
    t itself for none."""
    for _ in range(PARTNERS):
        u = np.random.randint(0, len(z.child))
        other = np.random.randint(p.first[u], p.first[u + 1])
        if u == t or other == z.fixed[u]:
            continue
        if p.seconds[other] - p.seconds[z.fixed[u]] > z.slack[u]:
            continue
        if not _excess(p, z, t, then, u, other, spare):
            return u, other
    return t, then


@inner
def _change(p: Project, z: Population, t: int, then: int, spare: Floats) -> None:
    """Let task t of the child have another alternative."""
    for d in range(len(spare)):
        spare[d] += p.consumed[z.fixed[t], d] - p.consumed[then, d]
    z.fixed[t] = then


@inner
def _cost(p: Project, problem: Problem, goal: Goal, z: Population, ground: Ground) -> float:
    """What the child in its order is worth, as it is fixed; infinity if it breaks a rule."""
    place_in_project(p, z.child, z.fixed, z.release, True, ground)
    return worth(p, problem, goal, ground, z) if breach(p, ground) == 0.0 else np.inf


@inner
def _urgent(z: Population) -> int:
    """Of two random tasks, the one that can be shifted less."""
    t, u = np.random.randint(0, len(z.child)), np.random.randint(0, len(z.child))
    return int(t) if z.slack[t] <= z.slack[u] else int(u)


@inner
def polish(p: Project, problem: Problem, goal: Goal, z: Population, ground: Ground) -> float:
    """Change alternatives of single tasks of the child, in the order of its starts, and keep what
    is no worse; its last end. Where the stock does not suffice, another task takes less of it."""
    sort_by(z.child, ground.start)
    z.fixed[:] = ground.chosen
    cost, n = _cost(p, problem, goal, z, ground), len(z.child)
    for _ in range(min(int(TRIED * n), PLACED // n)):
        t = _urgent(z)
        now, then = z.fixed[t], np.random.randint(p.first[t], p.first[t + 1])
        u, other = t, then
        if then != now and _excess(p, z, t, then, t, then, ground.spare):
            u, other = _partner(p, z, t, then, ground.spare)
            if u == t:
                continue
        if then == now:
            continue
        before = z.fixed[u]
        _change(p, z, u, other, ground.spare)
        _change(p, z, t, then, ground.spare)
        found = _cost(p, problem, goal, z, ground)
        if found <= cost:
            cost = found
            continue
        _change(p, z, u, before, ground.spare)
        _change(p, z, t, now, ground.spare)
    return place_in_project(p, z.child, z.fixed, z.release, True, ground)
