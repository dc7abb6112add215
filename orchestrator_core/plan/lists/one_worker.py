"""Everything on one worker: the baseline, and at times the best (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.lists.orders import heft

SERIAL_TRIALS = 1_000_000
"""`serial` tries every worker while tasks x workers x workers is at most this."""


def serial(problem: Problem) -> Iterator[Choice]:
    """Everything on one worker: no transfers; best where they cost far more than work.

    Tasks that may not run there run where they end first. The baseline of Topcuoglu's speed-up;
    SAGA's FastestNode.
    """
    order = next(heft(problem)).order
    seconds = best_seconds(problem)
    workers = np.argsort(total_seconds(seconds), kind="stable")
    if problem.n_tasks * problem.n_workers**2 > SERIAL_TRIALS:
        workers = workers[:1]
    for b in workers:
        yield Choice(order, worker=np.where(np.isfinite(seconds[:, b]), b, -1))


def total_seconds(seconds: Floats) -> Floats:
    """(w,) seconds of all tasks on each worker; first come those that may run the most of them."""
    eligible = np.isfinite(seconds)
    total = np.sum(seconds, axis=0, where=eligible)
    return np.asarray(total + (~eligible).sum(axis=0) * (total.sum() + 1.0), dtype=np.float64)
