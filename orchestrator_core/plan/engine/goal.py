"""Goal: an objective as plain arrays, and the value of a placement under it, compiled (stage 3).

A value is one float, so that a search needs to know nothing else:

    value = sum over criteria k of  weights[k] * criterion k

The first criterion of an objective has the weight 1, so that the value of the plain makespan is the
makespan in seconds, to the last bit. Each further criterion has a weight so small that its whole
range counts less than the smallest difference of the one before that matters, a `LEVEL` of its
scale: the sum then falls lexicographically, but for differences below that, and a lower bound on
the first criterion is one on the value. Beyond two criteria, the third is near the rounding of a
float; schedules are finally compared by `objectives.Judge`, exactly.

What is not in a placement is taken as the decoder does it: every output is sent as soon as it is
made, unless sending it later makes the leases of its workers shorter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem, expand, frozen
from orchestrator_core.plan.engine.goal_memory import peak
from orchestrator_core.plan.engine.goal_price import prices
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.objective import CRITERIA, Objective

SECONDS_PER_HOUR = 3600.0

LEVEL = 1e-6
"""What a criterion's whole range counts, as a part of the scale of the criterion before it."""

TARDINESS, PRICE, BUSY, MEMORY = 1, 2, 3, 4
"""Positions in `CRITERIA`; the makespan is 0."""


class Goal(NamedTuple):
    """An objective for n single tasks on w workers; all arrays frozen.

    Attributes:
        weights: (5,) what each of `CRITERIA` counts, 0 for those that do not.
        scale: (1,) a value that is small but not nothing, for annealing where the value may be 0.
        due: (n,) seconds, infinity for none. late_price: (n,) cost of a second of tardiness.
        price: (w,) cost of a second.
    """

    weights: Floats
    scale: Floats
    due: Floats
    late_price: Floats
    price: Floats


def goal_of(instance: Instance, objective: Objective) -> Goal:
    """The objective in the arrays of `expand(instance)`."""
    problem, graph = expand(instance), instance.graph
    price = np.array([w.price for w in instance.cluster.workers]) / SECONDS_PER_HOUR
    due, late_price = graph.due[problem.task], graph.weight[problem.task]
    small, large = _scales(problem, due, late_price, price)
    weights = np.zeros(len(CRITERIA))
    weight, chosen = 1.0, [CRITERIA.index(name) for name in objective.criteria]
    for k, after in zip(chosen, [*chosen[1:], -1], strict=True):
        weights[k] = weight
        weight *= LEVEL * small[k] / large[after]
    columns = (weights, np.array([1e-3 * small[chosen[0]]]), due, late_price, price)
    return Goal(*(frozen(np.asarray(column, dtype=np.float64)) for column in columns))


def _scales(
    problem: Problem, due: Floats, late_price: Floats, price: Floats
) -> tuple[Floats, Floats]:
    """(what is little, what is much) for each criterion; both > 0."""
    shortest = best_seconds(problem).min(axis=1) if problem.n_tasks else np.zeros(0)
    much = float(np.where(np.isfinite(problem.seconds), problem.seconds, 0.0).sum())
    much += float(problem.release.max(initial=0.0))
    little = max(float(shortest.mean()) if len(shortest) else 0.0, 1e-9 * much)
    counts = late_price[np.isfinite(due) & (late_price > 0)]
    paid = price[price > 0]
    held = float(problem.output_bytes.sum() + problem.memory.sum())
    needs = np.concatenate([problem.memory, problem.output_bytes])
    small = np.array(
        [
            little,
            little * float(counts.min(initial=np.inf)) if len(counts) else 1.0,
            little * float(paid.min()) if len(paid) else 1.0,
            little * float(paid.min()) if len(paid) else 1.0,
            float(needs[needs > 0].mean()) if (needs > 0).any() else 1.0,
        ]
    )
    large = np.array(
        [much, much * counts.sum(), much * price.sum(), much * price.sum(), held], dtype=np.float64
    )
    return np.where(small > 0, small, 1.0), np.where(large > 0, large, 1.0)


@inner
def value(goal: Goal, p: Problem, start: Floats, end: Floats, worker: Ints, mode: Ints) -> float:
    """What the placement (n,) is worth; smaller is better. Only what counts is computed."""
    total, makespan = 0.0, 0.0
    if goal.weights[0] > 0.0:
        for t in range(len(end)):
            makespan = max(makespan, end[t])
        total = goal.weights[0] * makespan
    if goal.weights[1] > 0.0:
        late = 0.0
        for t in range(len(end)):
            if end[t] > goal.due[t]:
                late += goal.late_price[t] * (end[t] - goal.due[t])
        total += goal.weights[1] * late
    if goal.weights[2] > 0.0 or goal.weights[3] > 0.0:
        rented, busy = prices(goal.price, p, start, end, worker, mode)
        total += goal.weights[2] * rented + goal.weights[3] * busy
    if goal.weights[4] > 0.0:
        total += goal.weights[4] * peak(p, start, end, worker, mode)
    return total


@compiled
def placement_value(
    goal: Goal, p: Problem, start: Floats, end: Floats, worker: Ints, mode: Ints
) -> float:
    """`value`, for callers in Python."""
    return value(goal, p, start, end, worker, mode)
