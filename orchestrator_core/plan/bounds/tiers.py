"""Lower bounds: no schedule of the instance is shorter (stage 3). Every plan ships with one.

Three relaxations, of which the largest counts: paths with transfers but without limits on workers;
the work that workers must share, as a linear program; and the work in windows between the earliest
start and the latest end of the tasks. These are the cheap rungs; `ladder.py` goes on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.bounds.area import work_by_sample
from orchestrator_core.plan.bounds.certificate import Certificate
from orchestrator_core.plan.bounds.leaf import Leaf, settle
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import initial, tightened
from orchestrator_core.plan.bounds.windows import ROUNDS
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import downward_rank, upward_rank

PATH_SECONDS = 0.5
"""Of paths that count transfers; where they take longer, transfers are free."""

SECONDS_PER_EDGE, SECONDS_PER_TASK = 2.5e-7, 5e-8
"""For each worker."""

MOST_CELLS = 2_000_000
"""Tasks x workers up to which there is a table of paths."""

LP_SIZE = 80_000
"""Most tasks x workers for the linear program; beyond, it is solved for a sample."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven lower bound on the makespan, in seconds, and how it was proven.

    Attributes:
        certificate: why it holds; None where the argument is not kept.
    """

    seconds: float
    method: str
    certificate: Certificate | None = None


def lower_bound(instance: Instance, rounds: int = ROUNDS) -> Bound:
    """The best of the cheap bounds; milliseconds for a hundred tasks, or tenths of a second where
    workers are unrelated and outputs long on their way: then `rounds` says how long windows are
    sought."""
    try:
        problem = expand(instance)
    except UnsupportedInstance:
        return Bound(float(instance.best_seconds.max(initial=0.0)), "longest task")
    if problem.n_tasks == 0:
        return Bound(0.0, "no tasks")
    size = problem.n_tasks * problem.n_workers
    if size <= LP_SIZE and path_effort(problem) <= PATH_SECONDS:
        return _windows(problem, rounds)
    work, paths = work_by_sample(problem), _paths(problem)
    if work > paths.seconds:
        return Bound(work, "total work (linear program of a sample)")
    return paths


def path_effort(problem: Problem) -> float:
    """Seconds that paths with transfers take, about; infinity where their tables are too large."""
    if problem.n_tasks * problem.n_workers > MOST_CELLS:
        return math.inf
    each = len(problem.in_task) * SECONDS_PER_EDGE + problem.n_tasks * SECONDS_PER_TASK
    return each * problem.n_workers


def _windows(problem: Problem, rounds: int) -> Bound:
    """Paths with transfers, then what the window program adds."""
    relaxation = Relaxation.of(problem)
    leaf = Leaf(0.0, tightened(relaxation, initial(relaxation, np.inf)))
    settle(relaxation, leaf, accuracy=1e-7, rounds=rounds)
    if rounds < ROUNDS:  # what was found so far, to the last digit
        settle(relaxation, leaf, accuracy=1e-7, rounds=1)
    method = "critical path with transfers"
    if leaf.sums:
        inner = any(span.any() for span in leaf.sums[-1].span)
        name = "work in windows" if inner else "total work"
        method = f"{name} (linear program)"
    return Bound(leaf.value, method, Certificate(leaf.value, None, leaf.as_case()))


def _paths(problem: Problem) -> Bound:
    """The longest path of shortest durations."""
    shortest = best_seconds(problem).min(axis=1)
    before = downward_rank(problem, shortest, 0.0, 0.0)
    through = before + upward_rank(problem, shortest, 0.0, 0.0)
    return Bound(float(through.max()) * (1.0 - 1e-12), "critical path")
