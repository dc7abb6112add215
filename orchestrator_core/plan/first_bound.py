"""first_bound: what no schedule can be better than, within the time that there is (stage 3)."""

from __future__ import annotations

import math

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.bounds import Bound, lower_bound
from orchestrator_core.plan.bounds.demand import dates, overload
from orchestrator_core.plan.bounds.priced_windows import priced_windows
from orchestrator_core.plan.bounds.windows import ROUNDS
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.modes import over_modes
from orchestrator_core.plan.engine.ranks import downward_rank, upward_rank
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.bounds import value_bound

EFFORTS = ((ROUNDS, 4.5e-4), (5, 6e-5), (3, 2.2e-5))
"""(rounds of the linear program, its seconds for each task and worker where it takes longest)."""

SHARE = 0.2
"""Part of the time that is left that the linear program may take from the search."""

NOTHING = Bound(0.0, "")
"""No bound."""


def first_bound(instance: Instance, objective: Objective, seconds: float | None) -> Bound:
    """A bound on the first criterion of the objective, within a part of these seconds if it can be.

    With None, the best of the cheap bounds, however long it takes.
    """
    if objective.primary == MAKESPAN.primary:
        choices = instance.graph.n_instances * len(instance.cluster)
        for rounds, each in EFFORTS:
            if seconds is None or choices * each <= SHARE * seconds:
                return lower_bound(instance, rounds)
        return quick_bound(instance)
    bound = value_bound(instance, objective)
    return Bound(bound.value, bound.method)


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


def quick_bound(instance: Instance) -> Bound:
    """The larger of the longest path and the work in windows at simple prices; nothing is solved.
    Milliseconds for a hundred tasks, interpreted."""
    try:
        problem = expand(instance)
    except UnsupportedInstance:
        return Bound(float(instance.best_seconds.max(initial=0.0)), "longest task")
    shortest = over_modes(problem, np.minimum, problem.seconds.min(axis=1))
    head = downward_rank(problem, shortest, 0.0, 0.0)
    rest = upward_rank(problem, shortest, 0.0, 0.0)
    path = float((head + rest).max(initial=0.0))
    work = priced_windows(problem, head, rest - shortest)
    if work > path:
        return Bound(work * _DOWN, "work in windows (simple prices)")
    return Bound(path * _DOWN, "critical path")


_DOWN = 1.0 - 1e-11
"""Keeps sums of many floats below what they bound."""
