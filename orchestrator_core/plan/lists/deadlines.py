"""List heuristics for deadlines (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import latest_ends, ready_order, upward_rank
from orchestrator_core.plan.lists.means import mean_link, mean_seconds


def edf(problem: Problem) -> Iterator[Choice]:
    """Earliest deadline first, with deadlines tightened to what later tasks need.

    J. R. Jackson: Scheduling a production line to minimize maximum tardiness, 1955; the tightening
    is that of E. L. Lawler, 1973. Without deadlines there is nothing to order by, and no choice.
    """
    if np.isfinite(problem.deadline).any():
        latest = latest_ends(problem, best_seconds(problem).min(axis=1))
        rank = upward_rank(problem, mean_seconds(problem), *mean_link(problem))
        # Among tasks without a deadline, by rank: any of them comes after all that have one.
        known = np.isfinite(latest)
        far = float(latest[known].max()) + float(rank.max()) + 1.0
        yield Choice(ready_order(problem, np.where(known, -latest, rank - far)))
