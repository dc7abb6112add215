"""A population of schedules of a project, and how children are made: compiled (stage 3).

An individual is an activity list (an order in which producers come before consumers) and an
alternative for each task. Children are made by the two-point crossover of S. Hartmann: A
competitive genetic algorithm for resource-constrained project scheduling. Naval Research Logistics
45, 1998, and changed a little; where stock is scarce, alternatives are repaired.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.project import Project

GREEDY = 3
"""A sampled order takes the most urgent of this many tasks that are ready and drawn."""

REPAIRS = 4
"""Changes of alternatives, as a multiple of the tasks, after which a repair of stock gives up."""

TRIALS = 4
"""Random changes, of which a repair takes the one that adds the fewest seconds for its gain."""


class Population(NamedTuple):
    """z individuals of n tasks, and the one that is in the making.

    Attributes:
        order, chosen: (z, n). breach, value, mark: (z,) how much of the rules is broken; what it
            is worth; a number that tells individuals apart.
        state: (4,) how many individuals there are, the best one, children since the last that was
            taken in, and children in all.
        child, fixed: (n,) order and alternatives of the child. place, ready: (n,) to compute with.
        rank: (n,) urgency, for sampled orders. release, earliest: (n,) seconds before which no
            task starts, and the same for time that runs backwards. slack: (n,) seconds by which a
            task of the child can be shifted.
    """

    order: Ints
    chosen: Ints
    breach: Floats
    value: Floats
    mark: Floats
    state: Ints
    child: Ints
    fixed: Ints
    place: Ints
    ready: Ints
    rank: Floats
    release: Floats
    earliest: Floats
    slack: Floats


def empty_population(size: int, rank: Floats, release: Floats) -> Population:
    """No individuals yet; room for `size`."""
    n = len(rank)
    order, chosen = np.zeros((2, size, n), dtype=np.int64)
    child, fixed, place, ready = np.zeros((4, n), dtype=np.int64)
    breach, value, mark = np.zeros((3, size))
    state = np.array([0, -1, 0, 0], dtype=np.int64)
    return Population(
        order=order,
        chosen=chosen,
        breach=breach,
        value=value,
        mark=mark,
        state=state,
        child=child,
        fixed=fixed,
        place=place,
        ready=ready,
        rank=rank.copy(),
        release=release.copy(),
        earliest=np.zeros(n),
        slack=np.zeros(n),
    )


@inner
def sample(p: Project, z: Population) -> None:
    """Make the child a random order that prefers urgent tasks, with free alternatives."""
    n, count = len(z.child), 0
    for t in range(n):
        z.place[t] = p.in_ptr[t + 1] - p.in_ptr[t]
        if z.place[t] == 0:
            z.ready[count] = t
            count += 1
    wild = np.random.random() < 0.5
    for i in range(n):
        x = np.random.randint(0, count)
        for _ in range(GREEDY - 1):
            y = np.random.randint(0, count)
            if z.rank[z.ready[y]] > z.rank[z.ready[x]]:
                x = y
        t = z.ready[x]
        count -= 1
        z.ready[x] = z.ready[count]
        z.child[i], z.fixed[t] = t, -1
        if wild and np.random.random() < 0.5:
            z.fixed[t] = np.random.randint(p.first[t], p.first[t + 1])
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            z.place[c] -= 1
            if z.place[c] == 0:
                z.ready[count] = c
                count += 1


@inner
def cross(z: Population, a: int, b: int) -> None:
    """Make the child: the begin and the end in a's order, what lies between in b's."""
    n = len(z.child)
    low, high = np.random.randint(0, n + 1), np.random.randint(0, n + 1)
    if low > high:
        low, high = high, low
    for t in range(n):
        z.place[t] = 0
    for i in range(low):
        t = z.order[a, i]
        z.child[i], z.fixed[t], z.place[t] = t, z.chosen[a, t], 1
    i, k = low, 0
    while i < high:
        t = z.order[b, k]
        if z.place[t] == 0:
            z.child[i], z.fixed[t], z.place[t] = t, z.chosen[b, t], 1
            i += 1
        k += 1
    k = 0
    while i < n:
        t = z.order[a, k]
        if z.place[t] == 0:
            z.child[i], z.fixed[t], z.place[t] = t, z.chosen[a, t], 1
            i += 1
        k += 1


@inner
def shift(p: Project, z: Population, t: int) -> None:
    """Move task t to a random place in the child's order, between producers and consumers.

    `z.place` holds the place of each task, and is kept up.
    """
    low, high = 0, len(z.child) - 1
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        low = max(low, z.place[p.in_task[k]] + 1)
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        high = min(high, z.place[p.out_task[k]] - 1)
    goal = np.random.randint(low, high + 1)
    i = z.place[t]
    step = 1 if goal > i else -1
    while i != goal:
        other = z.child[i + step]
        z.child[i], z.place[other] = other, i
        i += step
    z.child[goal], z.place[t] = t, goal


@inner
def mutate(p: Project, z: Population, shifts: int, changes: int) -> None:
    """Move some tasks of the child, and let some find another alternative."""
    n = len(z.child)
    for i in range(n):
        z.place[z.child[i]] = i
    for _ in range(shifts):
        shift(p, z, np.random.randint(0, n))
    for _ in range(changes):
        t = np.random.randint(0, n)
        z.fixed[t] = -1
        if np.random.random() < 0.5:
            z.fixed[t] = np.random.randint(p.first[t], p.first[t + 1])


@inner
def repair_stock(p: Project, z: Population, spare: Floats) -> None:
    """Change random alternatives of the child for others that consume less in all, until the stock
    suffices or nothing was found for long."""
    n, s = len(z.child), len(p.stock)
    for d in range(s):
        spare[d] = p.stock[d]
        for t in range(n):
            spare[d] -= p.consumed[z.fixed[t], d] if z.fixed[t] >= 0 else p.least[t, d]
    for _ in range(REPAIRS * n):
        excess = _excess(p, spare, 0, 0)
        if excess <= 0.0:
            return
        best, chosen, cheapest = -1, -1, np.inf
        for _ in range(TRIALS):
            t = np.random.randint(0, n)
            now, o = z.fixed[t], np.random.randint(p.first[t], p.first[t + 1])
            if now < 0 or o == now:
                continue
            gain = excess - _excess(p, spare, now, o)
            if gain > 0.0:
                price = max(0.0, p.seconds[o] - p.seconds[now]) / gain
                if price < cheapest:
                    best, chosen, cheapest = t, o, price
        if best >= 0:
            for d in range(s):
                spare[d] += p.consumed[z.fixed[best], d] - p.consumed[chosen, d]
            z.fixed[best] = chosen


@inner
def _excess(p: Project, spare: Floats, now: int, then: int) -> float:
    """What is missing of the stock, in parts of it, if one task changes its alternative so."""
    excess = 0.0
    for d in range(len(p.stock)):
        left = spare[d] + p.consumed[now, d] - p.consumed[then, d]
        excess += max(0.0, -left) / max(1.0, p.stock[d])
    return excess
