"""Packing: limits within which whole tasks do not fit on the workers (stage 3).

What counts is which tasks are looked at: those that lie in the windows by which the linear program
proves the most, and of them the longest, since many short ones fit nearly as well as if they were
split.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.certificate import Packing
from orchestrator_core.plan.bounds.claims import PATH
from orchestrator_core.plan.bounds.configurations import Rooms, overfilling
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import ROUNDING, State, tightened
from orchestrator_core.plan.bounds.windows import WORTH, Claims
from orchestrator_core.plan.engine.expand import frozen

MOST_EACH = 12
"""Tasks for each worker; of more, the longest are looked at."""

MOST = 120
"""Tasks at all."""

MOST_WORKERS = 128
"""Of more, each limit would take a second and more, as long as nobody can stop it."""

ROUNDS = 60
"""Linear programs until a limit is given up."""


def packed(
    relaxation: Relaxation, state: State, claims: Claims | None, limit: float
) -> Packing | None:
    """Why no schedule of the case is shorter than `limit` seconds; None if none is found."""
    inside = state.copy()
    inside.upper = min(state.upper, limit)
    tight = tightened(relaxation, inside)
    if tight is None:
        return Packing(float(limit), (), ())
    if tight.may.shape[1] > MOST_WORKERS:
        return None
    tasks = _in_the_windows(relaxation, tight, claims)
    if len(tasks) < 2:
        return None
    rooms = rooms_until(relaxation, tight, tasks, tight.upper * (1 - ROUNDING))
    prices = overfilling(*rooms, len(tasks), ROUNDS)
    counts = prices > 0
    if not counts.any():
        return None
    return Packing(float(limit), tuple(tasks[counts].tolist()), tuple(prices[counts].tolist()))


def _in_the_windows(relaxation: Relaxation, state: State, claims: Claims | None) -> Ints:
    """The tasks that are inside the window that counts most, on each worker where they may run."""
    inside = np.ones(len(state.may), dtype=np.bool_)
    counted = np.zeros(state.may.shape[1], dtype=np.bool_)
    windows = (
        () if claims is None else zip(claims.what, claims.span, claims.multiplier, strict=True)
    )
    for (what, kind, worker), (since, until, _), multiplier in sorted(
        windows, key=lambda row: -row[2]
    ):
        if what == PATH or kind != 0 or counted[worker] or multiplier <= WORTH:
            continue
        counted[worker] = True
        fits = (state.head[:, worker] >= since) & (state.tail[:, worker] >= until)
        inside &= fits | ~state.may[:, worker]
    tasks = np.flatnonzero(inside)
    most = min(MOST, MOST_EACH * state.may.shape[1])
    if len(tasks) > most:
        work = np.where(state.may[tasks], relaxation.work[0, tasks], np.inf).min(axis=1)
        tasks = np.sort(tasks[np.argsort(-work, kind="stable")[:most]])
    return tasks


def rooms_until(relaxation: Relaxation, state: State, tasks: Ints, end: float) -> Rooms:
    """What these tasks find on each worker, of which nothing may be left to do at `end` seconds."""
    found, first = [], [0]
    for b in range(state.may.shape[1]):
        may = np.flatnonzero(state.may[tasks, b])
        head, tail = state.head[tasks[may], b], state.tail[tasks[may], b]
        due = _due(head, tail, end)
        by_due = np.argsort(due, kind="stable")
        work = relaxation.work[0, tasks[may], b]
        found.append((may[by_due], work[by_due], due[by_due]))
        first.append(first[-1] + len(may))
    task, work, due = (frozen(np.concatenate(column)) for column in zip(*found, strict=True))
    return Rooms(np.array(first), task, work, due)


def _due(head: Floats, tail: Floats, end: float) -> Floats:
    """Seconds from the first head to the end that each task's own tail leaves it; or all turned
    round, if heads differ more than tails."""
    if len(head) == 0:
        return head
    if np.ptp(head) > np.ptp(tail):
        head, tail = tail, head
    return np.asarray(end - head.min() - tail)
