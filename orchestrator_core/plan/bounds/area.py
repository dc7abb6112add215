"""The work that workers must share, for instances that are too large for all else (stage 3).

Each task is split over workers; a worker takes no more work than it has threads times time. That
is the relaxation of R||Cmax by J. K. Lenstra, D. B. Shmoys and E. Tardos (1990). It is solved for
a sample of the tasks; its prices bound the work of all, since any prices prove something.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.windows import share
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes

_SAMPLE = 8_000
_CHUNK = 65_536


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

    The multipliers of the linear program for a sample of the modes: at these prices, a task's
    cheapest worker is where it belongs if work alone decides. None if nothing takes time.
    """
    modes, w = problem.seconds.shape
    size = min(modes, max(64, _SAMPLE // w))
    sample = np.unique(np.linspace(0, modes - 1, size).astype(np.int64))
    threads = problem.threads[sample, None] / problem.worker_threads
    eligible = np.isfinite(problem.seconds[sample])
    load = np.where(eligible, np.where(eligible, problem.seconds[sample], 0.0) * threads, np.inf)
    multipliers = share(load[eligible.any(axis=1)])
    return None if multipliers is None else multipliers / problem.worker_threads


def priced(seconds: Floats, price: Floats) -> Floats:
    """`seconds` (n, w) times the price of each worker; infinity where a task may not run."""
    eligible = np.isfinite(seconds)
    return np.where(eligible, np.where(eligible, seconds, 0.0) * price, np.inf)
