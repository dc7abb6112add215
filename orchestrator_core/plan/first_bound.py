"""first_bound: what no schedule can be better than, within the time that there is (stage 3)."""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds import Bound, lower_bound
from orchestrator_core.plan.bounds.certificate import Case, Certificate
from orchestrator_core.plan.bounds.demand import able_workers, dates, overload
from orchestrator_core.plan.bounds.priced_windows import priced_windows
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import initial, tightened
from orchestrator_core.plan.bounds.tiers import path_effort
from orchestrator_core.plan.bounds.windows import ROUNDS
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import over_modes
from orchestrator_core.plan.engine.ranks import downward_rank, upward_rank
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.bounds import value_bound

EFFORTS = ((ROUNDS, 4.5e-4), (5, 6e-5), (3, 2.2e-5))
"""(rounds of the linear program, its seconds for each task and each worker that may run it where it
takes longest)."""

SHARE = 0.2
"""Part of the time that is left that the linear program may take from the search."""

WORTH = 1e-6
"""Relative: a bound without a certificate that is larger by no more is not worth one with it."""

NOTHING = Bound(0.0, "")
"""No bound."""


def first_bound(instance: Instance, objective: Objective, seconds: float | None) -> Bound:
    """A bound on the first criterion of the objective, within a part of these seconds if it can be.

    With None, the best of the cheap bounds, however long it takes.
    """
    if objective.primary != MAKESPAN.primary:
        bound = value_bound(instance, objective)
        return Bound(bound.value, bound.method)
    most = math.inf if seconds is None else SHARE * seconds
    choices = int(able_workers(instance).sum(axis=1) @ instance.graph.count)
    for rounds, each in EFFORTS:
        if choices * each <= most:
            solved, quick = lower_bound(instance, rounds), quick_bound(instance)
            return quick if quick.seconds > solved.seconds * (1 + WORTH) else solved
    return quick_bound(instance, most)


def dated_bound(instance: Instance, seconds: float | None) -> Bound:
    """Infinite where more has to be done between two moments than can be, by the deadlines."""
    try:
        window = overload(instance, math.inf if seconds is None else SHARE * seconds)
        if window is None:
            return NOTHING
        inside = np.unique(expand(instance).task[window.units])
    except UnsupportedInstance:
        return NOTHING
    asked = inside[np.isfinite(instance.graph.deadline[inside])].tolist()
    by = f"; the deadlines of {dates(instance, asked)} ask for it" if asked else ""
    return Bound(math.inf, f"the demand bound: {window.told(instance)}{by}")


def quick_bound(instance: Instance, seconds: float = 0.0) -> Bound:
    """The larger of the longest path and the work in windows at simple prices; nothing is solved.
    Milliseconds for a hundred tasks, interpreted. Paths count transfers if that takes no more than
    so many seconds."""
    try:
        problem = expand(instance)
    except UnsupportedInstance:
        return Bound(float(instance.best_seconds.max(initial=0.0)), "longest task")
    with_transfers = 0 < path_effort(problem) <= seconds
    found, head, tail = (_paths if with_transfers else _plain_paths)(problem)
    work = priced_windows(problem, head, tail)
    if work > found.seconds:
        return Bound(work * _DOWN, "work in windows (simple prices)")
    return found


def _paths(problem: Problem) -> tuple[Bound, Floats, Floats]:
    """As `_plain_paths`, with the transfers that cannot be avoided."""
    relaxation = Relaxation.of(problem)
    state = tightened(relaxation, initial(relaxation, math.inf))
    if state is None:  # which no instance is: each task can run somewhere
        return _plain_paths(problem)
    seconds = state.lower_bound(relaxation)
    bound = Bound(seconds, "critical path with transfers", Certificate(seconds, None, Case()))
    head, tail = (np.where(state.may, side, np.inf) for side in (state.head, state.tail))
    return bound, head.min(axis=1), tail.min(axis=1)


def _plain_paths(problem: Problem) -> tuple[Bound, Floats, Floats]:
    """The longest path of shortest durations, and (n,) what is before and behind each task."""
    shortest = over_modes(problem, np.minimum, problem.seconds.min(axis=1))
    head = downward_rank(problem, shortest, 0.0, 0.0)
    rest = upward_rank(problem, shortest, 0.0, 0.0)
    path = float((head + rest).max(initial=0.0))
    return Bound(path * _DOWN, "critical path"), head, rest - shortest


_DOWN = 1.0 - 1e-11
"""Keeps sums of many floats below what they bound."""
