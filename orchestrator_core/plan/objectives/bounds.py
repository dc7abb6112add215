"""Lower bounds for each criterion: no schedule of the instance is worth less (stage 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds import lower_bound
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds, over_modes
from orchestrator_core.plan.engine.ranks import downward_rank, upward_rank
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.values import per_second
from orchestrator_core.plan.objectives.work_by_dates import price_by_dates

MOST_LEVELS = 16
"""Different weights that the tardiness bound tells apart; the others are rounded down to these."""

ROUNDING = 1.0 - 1e-11
"""Keeps sums of many floats below what they bound."""


class ValueBound(NamedTuple):
    """No schedule is worth less than `value`, in the unit of the criterion; proven by `method`."""

    value: float
    method: str


def value_bound(instance: Instance, objective: Objective | str) -> ValueBound:
    """A bound on the first criterion of the objective; milliseconds for a thousand tasks."""
    primary = Objective.of(objective).primary
    if primary == "makespan":
        bound = lower_bound(instance)
        return ValueBound(bound.seconds, bound.method)
    try:
        problem = expand(instance)
    except UnsupportedInstance:
        return ValueBound(0.0, "nothing is below zero")
    if problem.n_tasks == 0:
        return ValueBound(0.0, "no tasks")
    value, method = _BOUNDS[primary](instance, problem)
    return ValueBound(value * ROUNDING, method)


def _tardiness(instance: Instance, problem: Problem) -> tuple[float, str]:
    """The larger of two: each task as early as the paths to it allow; and, for each level of
    weight, the tasks of at least that weight as if they shared all threads as one.

    Sorted completions against sorted due dates are the least sum, since ``max(0, end - due)`` is
    convex in the difference; the k-th completion of a set comes no sooner than its k smallest works
    on all threads. That is the relaxation to one preemptive machine, as in E. L. Lawler (1977).
    """
    graph = instance.graph
    due, weight = graph.due[problem.task], graph.weight[problem.task]
    shortest = best_seconds(problem).min(axis=1)
    ends = downward_rank(problem, shortest, 0.0, 0.0) + shortest
    has_due = np.isfinite(due)
    paths = float((weight * np.maximum(0.0, ends - due))[has_due].sum())
    work = least_work(problem)[has_due] / float(problem.worker_threads.sum())
    shared = _by_levels(weight[has_due], due[has_due], ends[has_due], work)
    if shared > paths:
        return shared, "work on all threads against due dates"
    return paths, "earliest ends against due dates"


def _by_levels(weight: Floats, due: Floats, ends: Floats, work: Floats) -> float:
    levels = np.unique(weight[weight > 0])
    if len(levels) > MOST_LEVELS:
        levels = levels[np.linspace(0, len(levels) - 1, MOST_LEVELS).astype(np.int64)]
    total, below = 0.0, 0.0
    for level in levels.tolist():
        of = weight >= level
        completions = np.maximum(np.sort(ends[of]), np.cumsum(np.sort(work[of])))
        late = np.maximum(0.0, completions - np.sort(due[of]))
        total += (level - below) * float(late.sum())
        below = level
    return total


def least_work(problem: Problem) -> Floats:
    """(n,) thread-seconds of each task, at least."""
    work = problem.seconds * problem.threads[:, None]
    return np.asarray(over_modes(problem, np.minimum, work.min(axis=1)), dtype=np.float64)


def _price(instance: Instance, problem: Problem) -> tuple[float, str]:
    """The larger of two: every task where its share of the worker is cheapest, as far as deadlines
    let all of them run there; and the path of tasks that costs the most, since they run one after
    another, each within a lease."""
    share, method = _busy_price(instance, problem)
    alone = _cheapest(instance, problem, np.ones_like(problem.threads), np.ones(1))
    path = float(upward_rank(problem, alone, 0.0, 0.0).max())
    if path > share:
        return path, "the dearest path"
    return share, method


def _busy_price(instance: Instance, problem: Problem) -> tuple[float, str]:
    alone = float(_cheapest(instance, problem, problem.threads, problem.worker_threads).sum())
    if np.isfinite(problem.deadline).any():
        shortest = best_seconds(problem).min(axis=1)
        per_thread = per_second(instance.cluster) / problem.worker_threads
        by_dates = price_by_dates(problem, shortest, per_thread)
        if by_dates > alone:
            return by_dates, "the cheapest places that deadlines leave"
    return alone, "the cheapest place for each task"


def _cheapest(instance: Instance, problem: Problem, threads: Ints, of: Ints | Floats) -> Floats:
    """(n,) least price of each task, for so many threads `of` those of a worker."""
    price = per_second(instance.cluster) / of
    eligible = np.isfinite(problem.seconds)
    spent = np.where(eligible, problem.seconds, 0.0) * threads[:, None] * price
    least = np.where(eligible, spent, np.inf).min(axis=1)
    return np.asarray(over_modes(problem, np.minimum, least), dtype=np.float64)


def _memory(instance: Instance, problem: Problem) -> tuple[float, str]:
    """The largest need of a single task: its own memory and all its inputs, which are held where it
    runs until it ends."""
    n = problem.n_tasks
    consumer = np.repeat(np.arange(n), np.diff(problem.in_ptr))
    inputs = np.bincount(consumer, problem.output_bytes[problem.in_task], minlength=n)
    least = over_modes(problem, np.minimum, problem.memory)
    shortest = np.where(np.isfinite(problem.seconds), problem.seconds, np.inf).min(axis=1)
    # What takes no time takes no memory.
    lasting = over_modes(problem, np.minimum, shortest) > 1e-6 * float(
        shortest[np.isfinite(shortest)].max(initial=0.0)
    )
    needs = np.where(lasting, least + inputs, 0.0)
    return float(needs.max(initial=0.0)), "the largest need of a single task"


_BOUNDS: dict[str, Callable[[Instance, Problem], tuple[float, str]]] = {
    "tardiness": _tardiness,
    "price": _price,
    "busy-price": _busy_price,
    "memory": _memory,
}
