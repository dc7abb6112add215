"""The work that workers must share, for instances that are too large for all else (stage 3).

Each task is split over workers; a worker takes no more work than it has threads times time. That
is the relaxation of R||Cmax by J. K. Lenstra, D. B. Shmoys and E. Tardos (1990). It is solved for
a sample of the tasks; its prices bound the work of all, since any prices prove something.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.prices import by_steps, priced
from orchestrator_core.plan.bounds.windows import MOST_ROWS, share
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

_SAMPLE, _FEWEST = 8_000, 64
_CHUNK = 65_536

_FOR_EACH = 4
"""Modes for each worker by which simple prices are chosen, at least."""

MOST_SHARING = MOST_ROWS // 2
"""Workers that have a row each in the linear program, at most; it would take others for free."""


def work_by_sample(problem: Problem) -> float:
    """Seconds for which the workers are busy at least."""
    price = thread_prices(problem)
    if price is None:
        return 0.0
    cheapest = np.zeros(len(problem.seconds))
    for first in range(0, len(cheapest), _CHUNK):
        rows = slice(first, first + _CHUNK)
        cheapest[rows] = priced(problem.seconds[rows], price).min(axis=1) * problem.threads[rows]
    return float(over_modes(problem, np.minimum, cheapest).sum()) * (1.0 - 1e-11)


def thread_prices(problem: Problem) -> Floats | None:
    """(w,) what a second of one thread is worth on each worker, all threads together 1.

    The multipliers of the linear program for a few of the modes, or simple prices by more of them:
    those that prove more. At these prices, a task's cheapest worker is where it belongs if work
    alone decides. None if nothing takes time.
    """
    w, supply = problem.n_workers, problem.worker_threads.astype(np.float64)
    seconds, threads = _some(problem, max(_FOR_EACH * w, _SAMPLE // w))
    if not (seconds.min(axis=1) > 0).any():
        return None
    found = [by_steps(seconds, threads, supply)]
    if w <= MOST_SHARING:
        few, of_few = _some(problem, max(_FEWEST, _SAMPLE // w))
        multipliers = share(priced(few * of_few[:, None], 1.0 / supply))
        found += [] if multipliers is None else [multipliers / supply]
    work = seconds * threads[:, None]
    return max(found, key=lambda price: float(priced(work, price).min(axis=1).sum()))


def _some(problem: Problem, size: int) -> tuple[Floats, Floats]:
    """(k, w) seconds and (k,) threads of some modes, evenly chosen; without those that can run
    nowhere."""
    modes = len(problem.seconds)
    chosen = np.unique(np.linspace(0, modes - 1, min(modes, size)).astype(np.int64))
    chosen = chosen[np.isfinite(problem.seconds[chosen]).any(axis=1)]
    return problem.seconds[chosen], problem.threads[chosen].astype(np.float64)
