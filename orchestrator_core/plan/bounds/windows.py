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
from orchestrator_core.plan.bounds.choices import Choices, choices_of, first_of_open
from orchestrator_core.plan.bounds.claims import (
    ROUNDED,
    WINDOW,
    Times,
    claimed_rows,
    proven,
    rows_of,
)
from orchestrator_core.plan.bounds.elimination import Program
from orchestrator_core.plan.bounds.interior import solve
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.separation import (
    Broken,
    add_paths,
    add_rounded,
    add_windows,
)
from orchestrator_core.plan.bounds.state import State
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import frozen

MOST_ROWS = 240
"""Of one program."""

ROUNDS = 12
"""Times that windows are sought, at most."""

COARSE = 3e-3
"""Relative accuracy as long as claims are still found."""

WORTH_KEEPING = 1e-2
"""A multiplier up to which a claim is not taken over by other programs: each costs time in all that
follow, and is found again where it counts."""

WORTH = 1e-7
"""A multiplier that is no more than this is none."""


class Claims(NamedTuple):
    """Rows that were found to matter, and what they are worth.

    Attributes:
        known: seconds that they take for known; where some are rounded, it may be a guess.
        what: (k, 3) WINDOW, kind, worker; or ROUNDED, kind, worker; or PATH, task, 0.
        span: (k, 3) seconds s and u of a window, and d where it is rounded.
        multiplier: (k,) >= 0, adding up to at most 1: they prove `bound` seconds.
        split: (n, w) an optimal split of each task over the workers.
    """

    bound: float
    known: float
    what: Ints
    span: Floats
    multiplier: Floats
    split: Floats

    def that_count(self) -> tuple[Ints, Floats]:
        """`what` and `span` of those that are worth something."""
        counts = self.multiplier > WORTH_KEEPING
        return self.what[counts], self.span[counts]

    @property
    def rounded(self) -> bool:
        """Do whole tasks count in any of them?"""
        return bool((self.multiplier[self.what[:, 0] == ROUNDED] > WORTH).any())


def fit(
    relaxation: Relaxation,
    state: State,
    tasks: Ints,
    known: float,
    stop: float = np.inf,
    claims: Claims | None = None,
    accuracy: float = 1e-4,
    rounds: int = ROUNDS,
    whole: bool = False,
) -> Claims:
    """The window bound on these tasks; see `fit_windows`."""
    what, span = (_NO_WHAT, _NO_SPAN) if claims is None else claims.that_count()
    arrays = (relaxation.seconds, relaxation.work, state.head, state.tail, state.may)
    options = (known, stop, accuracy, rounds, whole)
    bound, what, *rest = fit_windows(tasks, *arrays, *options, what, span)
    return Claims(bound, known, what, *rest)


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
        np.arange(n), *arrays, known, np.inf, 1e-6, 1, False, _NO_WHAT, _NO_SPAN
    )
    multipliers = np.bincount(what[:, 2], found, w)
    total = float(multipliers.sum())
    return multipliers / total if total > 0 else None


_NO_WHAT = np.zeros((0, 3), dtype=np.int64)
_NO_SPAN = np.zeros((0, 3))


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
    whole: bool,
    what: Ints,
    span: Floats,
) -> tuple[float, Ints, Floats, Floats, Floats]:
    """(bound, what, span, multiplier, split): see `Claims`.

    Args:
        tasks: those that must run; the others do not matter.
        seconds, work: see `Relaxation`. head, tail, may: see `State`.
        known: seconds > 0 that no schedule is shorter than; or, where windows are rounded, a guess:
            then only a bound above it says something. stop: a bound that is good enough.
        accuracy: of the bound, relative. rounds: times that windows are sought, at most.
        whole: are windows sought that are rounded?
        what, span: claims to begin with.
    """
    choices = choices_of(tasks, may)
    times = Times(work, head, tail, _through(choices, seconds, head, tail), known)
    claim, reach = np.empty((MOST_ROWS, 3), dtype=np.int64), np.empty((MOST_ROWS, 3))
    count = _first_claims(what, span, work.shape, claim, reach)
    x, best, fresh = _even(choices), 0.0, 0
    kept, kept_reach, multiplier = claim[:0].copy(), reach[:0].copy(), np.zeros(0)
    tolerance, before = (accuracy if rounds == 1 else max(COARSE, accuracy)), 0.0
    for turn in range(rounds):
        y = np.zeros(count)
        tau = _split(choices, times, claim[:count], reach[:count], tolerance, stop, x, y)
        bound = _proof(choices, times, claim[:count], reach[:count], y)
        if bound > best or len(multiplier) == 0:
            best, multiplier = bound, y
            kept, kept_reach = claim[:count].copy(), reach[:count].copy()
        if best >= stop or turn == rounds - 1:
            break
        broken = Broken(known * (1.0 + max(tau, 0.0)), known * max(accuracy, 0.3 * tolerance))
        fresh = _drop_worthless(y, fresh, claim, reach)
        count = add_windows(choices, times, x, broken, claim, reach, fresh)
        count = add_paths(choices, times, x, broken, claim, reach, count)
        if whole:
            count = add_rounded(choices, times, x, broken, claim, reach, count)
        slow = turn >= 3 and bound < before + known * 10 * accuracy
        before = max(before, bound)
        if count == fresh or slow:
            if tolerance <= accuracy:
                break
            tolerance = accuracy
    return best, kept, kept_reach, multiplier, _as_table(choices, x, seconds.shape)


@inner
def _through(choices: Choices, seconds: Floats, head: Floats, tail: Floats) -> Floats:
    found = np.zeros(seconds.shape)
    for v in range(len(choices.task)):
        t, b = choices.task[v], choices.worker[v]
        found[t, b] = head[t, b] + seconds[t, b] + tail[t, b]
    return found


@inner
def _first_claims(
    what: Ints, span: Floats, shape: tuple[int, int, int], claim: Ints, reach: Floats
) -> int:
    """Those that are given, else all that a worker is asked for, from start to end."""
    count = min(len(what), MOST_ROWS // 2)
    claim[:count], reach[:count] = what[:count], span[:count]
    if count > 0:
        return count
    for b in range(shape[2]):
        for kind in range(shape[0]):
            if count < MOST_ROWS // 2:
                claim[count, 0], claim[count, 1], claim[count, 2] = WINDOW, kind, b
                reach[count] = 0.0
                count += 1
    return count


@inner
def _even(choices: Choices) -> Floats:
    """Each task split over its workers evenly."""
    x = np.ones(len(choices.task))
    for t in range(len(choices.first) - 1):
        first, last = choices.first[t], choices.first[t + 1]
        x[first:last] = 1.0 / max(1, last - first)
    return x


@inner
def _split(
    choices: Choices,
    times: Times,
    what: Ints,
    span: Floats,
    tolerance: float,
    stop: float,
    x: Floats,
    y: Floats,
) -> float:
    """Solve the program of these claims: its tau; the split x and the multipliers y are filled."""
    ptr, limit = np.zeros(len(x) + 1, dtype=np.int64), np.empty(len(what))
    row, value = rows_of(choices, times, claimed_rows(times, what, span), ptr, limit)
    free = np.flatnonzero(~choices.settled)
    # Settled variables have no entries, so that the columns of the others lie in a row.
    open_ptr = np.zeros(len(free) + 1, dtype=np.int64)
    open_ptr[1:] = ptr[free + 1]
    program = Program(first_of_open(choices), open_ptr, row, value, np.ones(len(what)), limit)
    found = np.empty(len(free))
    tau = solve(program, tolerance, stop / times.known - 1.0, found, y)
    x[free] = np.maximum(0.0, found)
    return tau


@inner
def _proof(choices: Choices, times: Times, what: Ints, span: Floats, y: Floats) -> float:
    """The bound that the multipliers prove, once they add up to at most 1."""
    total = y.sum()
    if total > 0:
        y /= max(total, 1.0)
    rest = times.known * (1.0 - min(1.0, total))
    return float(rest + proven(choices, times, claimed_rows(times, what, span), y))


@inner
def _drop_worthless(y: Floats, fresh: int, claim: Ints, reach: Floats) -> int:
    """Claims that are worth nothing leave, unless they are new (from `fresh` on); how many stay."""
    left = 0
    for k in range(len(y)):
        if y[k] > WORTH or k >= fresh:
            claim[left], reach[left] = claim[k], reach[k]
            left += 1
    return left


@inner
def _as_table(choices: Choices, x: Floats, shape: tuple[int, int]) -> Floats:
    split = np.zeros(shape)
    for v in range(len(x)):
        split[choices.task[v], choices.worker[v]] = x[v]
    return split
