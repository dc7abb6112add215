"""Work left: how many seconds of a plan's tasks each worker still has before it, as things stand.

What should have begun by now and has not is left whole, however late it is: a run whose tasks are
kept from running has as much work as before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.execute.live.telling import OVERDUE
from orchestrator_core.plan.schedule import Schedule


def work_left(
    plan: Schedule,
    is_open: NDArray[np.bool_],
    is_sent: NDArray[np.bool_],
    threads: Sequence[int],
    now: float,
) -> NDArray[np.float64]:
    """Seconds on each worker of the plan.

    Args:
        is_open, is_sent: of each row of the plan, has its task not ended yet, and was a worker
            told of it? Of those, a worker has begun as many as it has threads, at most.
        threads: of each worker. now: seconds, on the clock of the plan.
    """
    length = plan.end - plan.start
    age = now - plan.start
    is_begun = is_open & is_sent & (age > 0)
    is_begun &= _place(plan, is_begun) < np.asarray(threads)[plan.worker]
    rest = np.where(age < length, length - age, OVERDUE * age)
    seconds = np.where(is_begun, rest, np.where(is_open, length, 0.0))
    left = np.bincount(plan.worker, seconds, len(plan.worker_names))
    return left.astype(np.float64, copy=False)


def _place(plan: Schedule, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Of each chosen row, how many of the chosen come before it on its worker."""
    place = np.zeros(len(plan.worker), dtype=np.int64)
    rows = np.flatnonzero(chosen)
    rows = rows[np.lexsort((plan.start[rows], plan.worker[rows]))]
    worker = plan.worker[rows]
    place[rows] = np.arange(len(rows)) - np.searchsorted(worker, worker)
    return place
