"""evolve: a genetic algorithm over schedules of a project, with forward-backward improvement.

Each child is scheduled, justified to the right, and justified to the left again, which is never
longer: V. Valls, F. Ballestin, S. Quintanilla: Justification and RCPSP: a technique that pays. EJOR
165, 2005. A population that takes in nobody any more begins anew around its best member.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.goal import Goal, value
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.engine.serial import Ground, place_in_project
from orchestrator_core.plan.search.general_population import (
    Population,
    cross,
    mutate,
    repair_stock,
    sample,
)

SORTED_BY_INSERTION = 400
"""Up to this many tasks, nearly sorted rows are sorted by insertion."""

STALE = 12
"""Children, as a multiple of the population, that may be refused in a row before it begins anew."""


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
def justify(
    p: Project, last: float, z: Population, release: Floats, earliest: Floats, ground: Ground
) -> float:
    """Shift all tasks of the schedule to the right, then to the left; the last end.

    The child becomes the order of the new schedule.
    """
    for t in range(len(z.child)):
        z.fixed[t] = ground.chosen[t]
        earliest[t] = max(0.0, last - p.deadline[t])
    sort_by(z.child, ground.end)
    turn(z.child)
    place_in_project(p, z.child, z.fixed, earliest, False, ground)
    sort_by(z.child, ground.end)
    turn(z.child)
    return place_in_project(p, z.child, z.fixed, release, True, ground)


@inner
def _draw(z: Population) -> int:
    """The better one of two random individuals."""
    a, b = np.random.randint(0, z.state[0]), np.random.randint(0, z.state[0])
    worse = z.breach[a] > z.breach[b] or (z.breach[a] == z.breach[b] and z.value[a] > z.value[b])
    return int(b) if worse else int(a)


@inner
def _take(z: Population, size: int, chosen: Ints, missed: float, worth: float, mark: float) -> None:
    """Take the child in, unless it is there already or is worse than all that are."""
    z.state[2] += 1
    at = 0
    for i in range(z.state[0]):
        if z.mark[i] == mark and z.value[i] == worth:
            return
        if z.breach[i] > z.breach[at] or (z.breach[i] == z.breach[at] and z.value[i] > z.value[at]):
            at = i
    if z.state[0] < size:
        at = z.state[0]
        z.state[0] += 1
    elif missed > z.breach[at] or (missed == z.breach[at] and worth >= z.value[at]):
        return
    z.order[at], z.chosen[at] = z.child, chosen
    z.breach[at], z.value[at], z.mark[at] = missed, worth, mark
    z.state[2] = 0
    best = z.state[1]
    if best < 0 or missed < z.breach[best] or (missed == z.breach[best] and worth < z.value[best]):
        z.state[1] = at


@compiled
def evolve(
    p: Project,
    problem: Problem,
    goal: Goal,
    z: Population,
    ground: Ground,
    seed: int,
    children: int,
    target: float,
    given: bool,
) -> None:
    """Make so many children, or until one is valid and worth at most `target`.

    Args:
        given: the first one is what `z.child` and `z.fixed` hold.
    """
    np.random.seed(seed)
    n, size = len(z.child), len(z.value)
    choices = len(p.mode) > n
    earliest, release = np.zeros(n), p.release.copy()
    for number in range(children):
        if z.state[2] > STALE * size and z.state[0] == size:
            best = z.state[1]
            z.order[0], z.chosen[0] = z.order[best], z.chosen[best]
            z.breach[0], z.value[0], z.mark[0] = z.breach[best], z.value[best], z.mark[best]
            z.state[0], z.state[1], z.state[2] = 1, 0, 0
        if number > 0 or not given:
            if z.state[0] < size:
                sample(p, z)
            else:
                cross(z, _draw(z), _draw(z))
                shifts = 0
                while np.random.random() < 0.66:
                    shifts += 1
                changes = 0
                while choices and np.random.random() < 0.75:
                    changes += 1
                mutate(p, z, shifts, changes)
            if len(p.stock) > 0:
                repair_stock(p, z, ground.spare)
        z.state[3] += 1
        last = place_in_project(p, z.child, z.fixed, release, True, ground)
        last = justify(p, last, z, release, earliest, ground)
        missed, mark = breach(p, ground), 0.0
        for t in range(n):
            mark += ground.start[t] * (1.0 + 0.37 * t) + ground.chosen[t]
        _take(z, size, ground.chosen, missed, worth(p, problem, goal, ground, z), mark)
        best = z.state[1]
        if z.breach[best] == 0.0 and z.value[best] <= target:
            break
