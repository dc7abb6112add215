"""work_by_dates: what work costs at least that has to be done by certain dates (stage 3).

Workers have only so many thread-seconds until the last date. Whoever lets them be exceeded at a
price on each thread-second bounds what it costs to keep to them, whatever the prices (Lagrangian
relaxation, A. M. Geoffrion, 1974); the best prices are those of a linear program. In it tasks whose
times on the workers are proportional count as one; the bound itself is over all tasks.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.compiled import is_interpreting
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import over_modes
from orchestrator_core.plan.engine.ranks import latest_ends

MOST = 3_000
"""Kinds of tasks times workers in the linear program."""

PLACES = 6
"""Decimals of the times over the least of them in which tasks of one kind are the same."""


def price_by_dates(problem: Problem, shortest: Floats, price: Floats) -> float:
    """Money that tasks with deadlines cost at least, with those that they need, and all others
    where they are cheapest.

    Args:
        shortest: (n,) seconds of each task where it is fastest.
        price: (w,) of a thread-second.
    """
    work = over_modes(problem, np.minimum, problem.seconds * problem.threads[:, None])
    dated = np.isfinite(latest_ends(problem, shortest))
    until = float(problem.deadline[np.isfinite(problem.deadline)].max(initial=0.0))
    room: Floats = until * problem.worker_threads.astype(np.float64)
    where = _spent(work, price).argmin(axis=1)
    there = work[np.arange(len(where)), where]
    cheapest = there * price[where]
    taken = np.bincount(where[dated], there[dated], len(room))
    if not dated.any() or (taken <= room).all() or is_interpreting():
        return float(cheapest.sum())
    more = _dearer(work[dated], price, room)
    relaxed = _spent(work[dated], price + more).min(axis=1).sum() - float((more * room).sum())
    return float(max(relaxed, cheapest[dated].sum()) + cheapest[~dated].sum())


def _spent(work: Floats, price: Floats) -> Floats:
    """(n, w); infinite where a task cannot run, also where that costs nothing."""
    spent: Floats = np.where(np.isfinite(work), work, 0.0) * price
    spent[np.isinf(work)] = np.inf
    return spent


def _dearer(work: Floats, price: Floats, room: Floats) -> Floats:
    """(w,) by how much a thread-second is to be dearer, so that about as many are asked for as
    there are."""
    from scipy.optimize import linprog

    rows, amount = _alike(work)
    k, w = rows.shape
    if k == 0:
        return np.zeros(w)
    may = np.isfinite(rows)
    used = np.where(may, rows, 0.0) * amount[:, None]
    cost = (used * price).ravel()
    shares = np.kron(np.eye(k), np.ones(w))
    capped = np.concatenate([np.diag(column) for column in used], axis=1)
    found = linprog(
        cost,
        A_ub=capped,
        b_ub=room,
        A_eq=shares,
        b_eq=np.ones(k),
        bounds=[(0.0, 1.0 if allowed else 0.0) for allowed in may.ravel()],
        method="highs",
    )
    if found.status != 0:
        return np.zeros(w)
    return np.asarray(np.maximum(0.0, -found.ineqlin.marginals), dtype=np.float64)


def _alike(work: Floats) -> tuple[Floats, Floats]:
    """Kinds of tasks: (k, w) their times over the least of them, and (k,) the sum of the leasts. Of
    too many kinds some stand for all; none are those that take no time somewhere."""
    least = work.min(axis=1)
    some = least > 0
    ratio = work[some] / least[some, None]
    rounded = np.round(ratio, PLACES)
    _, first, kind = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    amount: Floats = np.bincount(kind.ravel(), least[some], len(first)).astype(np.float64)
    most = max(1, MOST // work.shape[1])
    if len(first) > most:
        few = np.linspace(0, len(first) - 1, most).astype(np.int64)
        first, amount = first[few], amount[few] * (amount.sum() / amount[few].sum())
    return ratio[first], amount
