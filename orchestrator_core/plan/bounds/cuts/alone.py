"""Tasks of which two cannot run at the same time on one worker (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.relaxation import shares
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

MORE_THAN_ALL = 1 + 1e-9


def never_at_once(instance: Instance, problem: Problem) -> Flags:
    """(n, n) do two tasks together take more than all threads, or than there is of a resource, on
    each worker and in all their modes? Never where tasks may pause for each other.

    What takes no time gets in nobody's way.
    """
    n = problem.n_tasks
    found = np.zeros((n, n), dtype=np.bool_)
    if any(instance.graph.checkpoint_sets):
        return found
    for share in _least_shares(problem):
        least = np.full((n, n), np.inf)
        for each in share.T:
            least = np.minimum(least, each[:, None] + each[None, :])
        found |= least > MORE_THAN_ALL
    np.fill_diagonal(found, False)
    return found


def _least_shares(problem: Problem) -> list[Floats]:
    """(n, w) the part of a worker's threads, and of each resource, that a task takes at least;
    infinity where it may not run."""
    may, lasts = np.isfinite(problem.seconds), problem.seconds > 0
    each = [np.where(may, np.where(lasts, part, 0.0), np.inf) for part in shares(problem)]
    return [over_modes(problem, np.minimum, part) for part in each]
