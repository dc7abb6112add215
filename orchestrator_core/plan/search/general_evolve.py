"""evolve: a genetic algorithm over schedules of a project, with forward-backward improvement.

Each child is scheduled and justified (`general_justify.py`). A population that takes in nobody any
more begins anew around its best member. Where tasks have alternatives, a child that is to be taken
in is polished first by a local search over them.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.goal import Goal
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.engine.serial import Ground, place_in_project
from orchestrator_core.plan.search.general_justify import breach, justify, polish, worth
from orchestrator_core.plan.search.general_population import (
    Population,
    cross,
    mutate,
    repair_stock,
    sample,
)

SHIFTED, CHANGED = 0.66, 0.5
"""Chances that one more task of a child of two is moved, and that one more finds another
alternative."""

POLISHED = 1_000
"""Most tasks of a project whose children are polished; with more, one child would take too long."""

STALE = 12
"""Children, as a multiple of the population, that may be refused in a row before it begins anew."""


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


@inner
def _begin_anew(z: Population) -> None:
    """Only the best individual stays."""
    best = z.state[1]
    z.order[0], z.chosen[0] = z.order[best], z.chosen[best]
    z.breach[0], z.value[0], z.mark[0] = z.breach[best], z.value[best], z.mark[best]
    z.state[0], z.state[1], z.state[2] = 1, 0, 0


@inner
def _make(p: Project, z: Population, spare: Floats) -> None:
    """Make the child: a sample until the population is complete, then of two individuals."""
    if z.state[0] < len(z.value):
        sample(p, z)
    else:
        cross(z, _draw(z), _draw(z))
        shifts, changes = 0, 0
        while np.random.random() < SHIFTED:
            shifts += 1
        while len(p.mode) > len(z.child) and np.random.random() < CHANGED:
            changes += 1
        mutate(p, z, shifts, changes)
    if len(p.stock) > 0:
        repair_stock(p, z, spare)


@inner
def _mark(ground: Ground) -> float:
    """A number that tells schedules apart."""
    mark = 0.0
    for t in range(len(ground.start)):
        mark += ground.start[t] * (1.0 + 0.37 * t) + ground.chosen[t]
    return mark


@inner
def _limit(z: Population) -> float:
    """What a child must not exceed to be taken in, if it keeps the rules."""
    limit = 0.0
    for i in range(len(z.value)):
        kept = i < z.state[0] and z.breach[i] == 0.0
        limit = max(limit, z.value[i] if kept else np.inf)
    return limit


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
    p, problem, z, ground = lent(p), lent(problem), lent(z), lent(ground)
    choices = len(p.mode) > len(z.child) and len(z.child) <= POLISHED
    for number in range(children):
        if z.state[2] > STALE * len(z.value) and z.state[0] == len(z.value):
            _begin_anew(z)
        if number > 0 or not given:
            _make(p, z, ground.spare)
        z.state[3] += 1
        last = place_in_project(p, z.child, z.fixed, z.release, True, ground)
        last = justify(p, last, z, ground)
        missed, found = breach(p, ground), worth(p, problem, goal, ground, z)
        if choices and missed == 0.0 and found <= _limit(z):
            justify(p, polish(p, problem, goal, z, ground), z, ground)
            missed, found = breach(p, ground), worth(p, problem, goal, ground, z)
        _take(z, len(z.value), ground.chosen, missed, found, _mark(ground))
        best = z.state[1]
        if z.breach[best] == 0.0 and z.value[best] <= target:
            break
