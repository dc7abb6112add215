"""From values of each mode to values of each single task (stage 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.expand import Problem, frozen


def over_modes(problem: Problem, reduce: np.ufunc, per_mode: NDArray[Any]) -> NDArray[Any]:
    """(n, ...) the rows of `per_mode`, reduced over the modes of each single task."""
    n = problem.n_tasks
    if n == len(per_mode) and bool((problem.mode_begin == np.arange(n)).all()):
        return per_mode  # one mode each and no counts: copies of a million rows cost memory
    steps = np.diff(problem.mode_begin, prepend=-1)
    if (steps < 0).any():
        begins, place = np.unique(problem.mode_begin, return_inverse=True)
        return np.asarray(reduce.reduceat(per_mode, begins)[place])
    # Single tasks of one task stand together: nothing has to be sorted.
    first = np.flatnonzero(steps)
    reduced = reduce.reduceat(per_mode, problem.mode_begin[first])
    return np.repeat(reduced, np.diff(first, append=n), axis=0)


def best_seconds(problem: Problem) -> Floats:
    """(n, w) shortest duration over the modes; infinity where none may run."""
    return frozen(over_modes(problem, np.minimum, problem.seconds))
