"""The window bound: work that must fit between heads and tails, as a linear program (stage 3).

Each task is split over its workers, which is the relaxation of R||Cmax by J. K. Lenstra,
D. B. Shmoys and E. Tardos (1990). What cannot start on a worker before s, and has at least u behind
it, must fit there between s and the makespan minus u. There are as many such windows as pairs of a
head and a tail, so those that matter are sought while the program is solved. Compiled.

What a row is, is told in `claims.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.claims import WINDOW, proven, rows_of
from orchestrator_core.plan.bounds.interior import solve
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.separation import add_paths, add_windows
from orchestrator_core.plan.bounds.state import State
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import frozen

MOST_ROWS = 240
"""Of one program."""

ROUNDS = 12
"""Times that windows are sought, at most."""


class Claims(NamedTuple):
    """Rows that were found to matter, and what they are worth.

    Attributes:
        what: (k, 3) WINDOW, kind, worker; or PATH, task, 0.
        span: (k, 2) seconds s and u of a window.
        multiplier: (k,) >= 0, adding up to at most 1: they prove `bound` seconds.
        split: (n, w) an optimal split of each task over the workers.
    """

    bound: float
    what: Ints
    span: Floats
    multiplier: Floats
    split: Floats


def fit(
    relaxation: Relaxation,
    state: State,
    tasks: Ints,
    known: float,
    stop: float = np.inf,
    claims: Claims | None = None,
    accuracy: float = 1e-4,
    rounds: int = ROUNDS,
) -> Claims:
    """The window bound on these tasks; see `fit_windows`."""
    what, span = (_NO_WHAT, _NO_SPAN) if claims is None else (claims.what, claims.span)
    arrays = (relaxation.seconds, relaxation.work, state.head, state.tail, state.may)
    return Claims(*fit_windows(tasks, *arrays, known, stop, accuracy, rounds, what, span))


def share(load: Floats) -> Floats | None:
    """(w,) multipliers, adding up to 1, that prove the most of (n, w) work that workers share; None
    if there is no work."""
    n, w = load.shape
    known = float(load.min(axis=1).sum()) / w if n else 0.0
    if known <= 0:
        return None
    nothing, may = frozen(np.zeros((n, w))), np.isfinite(load)
    arrays = (frozen(load), frozen(load[None]), nothing.copy(), nothing.copy(), may)
    _, what, _, found, _ = fit_windows(
        np.arange(n), *arrays, known, np.inf, 1e-6, 1, _NO_WHAT, _NO_SPAN
    )
    multipliers = np.bincount(what[:, 2], found, w)
    total = float(multipliers.sum())
    return multipliers / total if total > 0 else None


_NO_WHAT = np.zeros((0, 3), dtype=np.int64)
_NO_SPAN = np.zeros((0, 2))


@compiled
def fit_windows(
    tasks: Ints,
    seconds: Floats,
    work: Floats,
    head: Floats,
    tail: Floats,
    may: Flags,
    known: float,
    stop: float,
    accuracy: float,
    rounds: int,
    what: Ints,
    span: Floats,
) -> tuple[float, Ints, Floats, Floats, Floats]:
    """(bound, what, span, multiplier, split): see `Claims`.

    Args:
        tasks: those that must run; the others do not matter.
        seconds, work: see `Relaxation`. head, tail, may: see `State`.
        known: seconds > 0 that no schedule is shorter than. stop: a bound that is good enough.
        accuracy: of the bound, relative. rounds: times that windows are sought, at most.
        what, span: claims to begin with.
    """
    n, w = seconds.shape
    nv = 0
    first = np.zeros(len(tasks) + 1, dtype=np.int64)
    for i in range(len(tasks)):
        nv += int(may[tasks[i]].sum())
        first[i + 1] = nv
    task, worker = np.empty(nv, dtype=np.int64), np.empty(nv, dtype=np.int64)
    settled = np.zeros(nv, dtype=np.bool_)
    group = np.empty(nv, dtype=np.int64)
    through = np.zeros((n, w))
    at = 0
    for i in range(len(tasks)):
        t = tasks[i]
        for b in range(w):
            if may[t, b]:
                task[at], worker[at], group[at] = t, b, i
                settled[at] = first[i + 1] - first[i] == 1
                through[t, b] = head[t, b] + seconds[t, b] + tail[t, b]
                at += 1
    free = np.flatnonzero(~settled)
    # The variables of the program: those of tasks with a choice, tasks numbered anew.
    open_first = np.zeros(len(tasks) + 1, dtype=np.int64)
    open_tasks = 0
    for i in range(len(tasks)):
        if first[i + 1] - first[i] > 1:
            open_first[open_tasks + 1] = open_first[open_tasks] + first[i + 1] - first[i]
            open_tasks += 1
    open_first = open_first[: open_tasks + 1]
    claim, reach = np.empty((MOST_ROWS, 3), dtype=np.int64), np.empty((MOST_ROWS, 2))
    count = min(len(what), MOST_ROWS // 2)
    claim[:count], reach[:count] = what[:count], span[:count]
    if count == 0:
        for b in range(w):
            for kind in range(work.shape[0]):
                if count < MOST_ROWS // 2:
                    claim[count] = np.array([WINDOW, kind, b])
                    reach[count] = 0.0
                    count += 1
    x = np.ones(nv)
    for v in free:
        x[v] = 1.0 / (first[group[v] + 1] - first[group[v]])
    best, best_count = 0.0, 0
    kept, kept_reach = claim[:0].copy(), reach[:0].copy()
    multiplier = np.zeros(0)
    tolerance, before = (accuracy if rounds == 1 else max(3e-3, accuracy)), 0.0
    for turn in range(rounds):
        ptr, limit = np.zeros(nv + 1, dtype=np.int64), np.empty(count)
        row, value = rows_of(
            task,
            worker,
            settled,
            claim,
            reach,
            count,
            work,
            head,
            tail,
            through,
            known,
            ptr,
            limit,
        )
        g, y = np.ones(count), np.zeros(count)
        open_ptr = np.zeros(len(free) + 1, dtype=np.int64)
        for i in range(len(free)):
            # Settled variables have no entries, so that the columns of the others lie in a row.
            open_ptr[i + 1] = ptr[free[i] + 1]
        xf = np.empty(len(free))
        tau = solve(
            open_first, open_ptr, row, value, g, limit, tolerance, stop / known - 1.0, xf, y
        )
        for i in range(len(free)):
            x[free[i]] = max(0.0, xf[i])
        total = y.sum()
        if total > 0:
            y /= max(total, 1.0)
        bound = known * (1.0 - min(1.0, total)) + proven(
            first, task, worker, claim, reach, y, count, work, head, tail, through, known
        )
        if bound > best or len(multiplier) == 0:
            best, multiplier = bound, y
            kept, kept_reach = claim[:count].copy(), reach[:count].copy()
        if best >= stop or turn == rounds - 1:
            break
        makespan = known * (1.0 + max(tau, 0.0))
        slack = known * max(accuracy, 0.3 * tolerance)
        # What is worth nothing leaves, unless it is new.
        left = 0
        for k in range(count):
            if y[k] > 1e-7 or k >= best_count:
                claim[left], reach[left] = claim[k], reach[k]
                left += 1
        best_count = left
        count = add_windows(
            task, worker, x, work, head, tail, known, makespan, slack, 3, claim, reach, left
        )
        count = add_paths(first, task, worker, x, through, makespan, slack, 12, claim, reach, count)
        slow = turn >= 3 and bound < before + known * 10 * accuracy
        before = max(before, bound)
        if count == left or slow:
            if tolerance <= accuracy:
                break
            tolerance = accuracy
    split = np.zeros((n, w))
    for i in range(nv):
        split[task[i], worker[i]] = x[i]
    return best, kept, kept_reach, multiplier, split
