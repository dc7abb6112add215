"""How hot the annealing on lanes begins (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds

COLD = 0.02
"""What is enough where transfers are short, relative to the value, times the root of the tasks."""

LEAST_TASKS = 20
"""Fewer count as so many."""

PER_CCR, MOST = 2.0, 10.0
"""How many times as hot it takes to move a task away from its data: so much for each mean duration
that a mean transfer takes, and at most (decision 0034)."""


def heats(problem: Problem) -> tuple[float, ...]:
    """The heat at the begin of a leg, relative to the value, the hottest first: one that passes
    what transfers put between two schedules, where they are long, and one that refines."""
    cold = float(COLD / np.sqrt(max(LEAST_TASKS, problem.n_tasks)))
    factor = min(MOST, PER_CCR * transfer_share(problem))
    return (cold * factor, cold) if factor > 1.0 else (cold,)


def transfer_share(problem: Problem) -> float:
    """The mean transfer between two workers in mean durations of a task; 0 if there is none.

    It is the CCR of H. Topcuoglu, S. Hariri, M. Wu: Performance-effective and low-complexity task
    scheduling for heterogeneous computing. IEEE TPDS 13, 2002.
    """
    apart = ~np.eye(problem.n_workers, dtype=bool)
    if not apart.any() or len(problem.out_bytes) == 0:
        return 0.0
    seconds = best_seconds(problem)
    duration = float(np.nanmean(np.where(np.isfinite(seconds), seconds, np.nan)))
    per_byte = float(problem.per_byte[apart].mean())
    transfer = float(problem.latency[apart].mean()) + float(problem.out_bytes.mean()) * per_byte
    return transfer / duration if duration > 0.0 else 0.0
