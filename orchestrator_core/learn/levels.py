"""Levels: what runs say that the data grew, or the code changed.

Of a kind whose tasks all take longer, or shorter, from run to run, a mean over many runs is always
late. So it is asked of each kind with how short a memory each of its runs would have been foretold
best from those before it. Where a short one is clearly better, older runs are moved to where the
kind is now, each as far as it was foretold: what is left of it is by how much the next run may
differ, and, of a kind that grows steadily, by how much it will.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import HALF_LIFE, Columns
from orchestrator_core.learn.overhead import USUAL, overheads_of
from orchestrator_core.learn.robust import group_medians
from orchestrator_core.learn.solver import SHORTEST, solve

SHORTER = (4.0, 2.0, 1.0, 0.5)
"""Half-lives in runs that are tried beside `HALF_LIFE`."""

CLEARLY = 1.0
"""Log likelihood by which the best of them must be better."""

FEWEST = 4
"""Runs of a kind without which nothing is said."""

UNSEEN = 0.03
"""Standard deviation (log) of runs that nobody takes for a change."""


def levelled(columns: Columns, prior: Floats) -> Columns:
    """The columns with the runs of kinds that changed moved to where those kinds are now.

    `prior` (v,) is the log slowness of worker kinds, as declared.
    """
    runs = _runs_of(columns)
    if max(map(len, runs), default=0) < FEWEST:
        return columns
    overhead = overheads_of(columns, USUAL)
    moved = np.zeros(len(columns))
    at = columns.kind * (int(columns.age.max()) + 1) + columns.age
    middle = _middles(columns, overhead, prior, at)
    for ages in runs:
        if len(ages) < FEWEST:
            continue
        level = middle[ages]
        foretold, now = _foretold(level)
        if foretold is not None:
            by_run = np.zeros(len(middle))
            by_run[ages] = now - foretold
            moved += by_run[at]
    if not moved.any():
        return columns
    # Their own work, however short: of more than there is, something below 0 would be left.
    work = np.maximum(columns.work(overhead), 0.0)
    return replace(columns, seconds=columns.seconds + work * np.expm1(moved))


def lately(level: Floats) -> float | None:
    """Where the next level is expected; None if nothing says that levels changed.

    `level` has the newest first.
    """
    if len(level) < FEWEST:
        return None
    foretold, now = _foretold(level)
    return None if foretold is None else now


def _runs_of(columns: Columns) -> list[Ints]:
    """For each kind its runs, the newest first, as numbers of (kind, age)."""
    ages = int(columns.age.max(initial=-1)) + 1
    seen = np.unique(columns.kind * ages + columns.age)
    return [seen[seen // ages == kind] for kind in range(len(columns.kinds))] if ages else []


def _middles(columns: Columns, overhead: Floats, prior: Floats, at: Ints) -> Floats:
    """By (kind, age): log seconds of the run beside the kind, its tasks' and workers' part off.

    A task that was seen in one run alone has no part of its own: it tells of that run.
    """
    effects = solve(columns, overhead, prior, interaction=0.0)
    y = np.log(np.maximum(columns.work(overhead), SHORTEST))
    rest = y - effects.kind[columns.kind] - effects.worker[columns.worker]
    own = np.where(_in_several_runs(columns), effects.task, 0.0)
    return group_medians(rest - own[columns.task], at, int(at.max()) + 1)


def _in_several_runs(columns: Columns) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(tasks,)"""
    first, last = np.full(len(columns.tasks), np.inf), np.full(len(columns.tasks), -1.0)
    np.minimum.at(first, columns.task, columns.age)
    np.maximum.at(last, columns.task, columns.age)
    several: np.ndarray[tuple[int], np.dtype[np.bool_]] = last > first
    return several


def _foretold(level: Floats) -> tuple[Floats | None, float]:
    """(runs,) what each run was foretold by the memory that clearly does best, and the next one.

    None where the usual memory does as well. `level` has the newest run first.
    """
    told = {half_life: _predictions(level, half_life) for half_life in (HALF_LIFE, *SHORTER)}
    surprise = {half_life: _surprise(level, made) for half_life, (made, _) in told.items()}
    best = min(SHORTER, key=surprise.__getitem__)
    if surprise[HALF_LIFE] - surprise[best] < CLEARLY:
        return None, 0.0
    return told[best]


def _predictions(level: Floats, half_life: float) -> tuple[Floats, float]:
    """(runs,) each from those before it, the oldest from itself; and the one after the newest."""
    fade = 0.5 ** (1.0 / half_life)
    made = np.empty(len(level))
    weight = total = 0.0
    for i in range(len(level) - 1, -1, -1):
        made[i] = total / weight if weight else level[i]
        total, weight = level[i] + fade * total, 1.0 + fade * weight
    return made, total / weight


def _surprise(level: Floats, made: Floats) -> float:
    """Minus the log likelihood of the levels, newer ones counting more; up to a constant."""
    trust = 0.5 ** (np.arange(len(level) - 1) / HALF_LIFE)
    squares = (level - made)[:-1] ** 2 + UNSEEN**2
    return float(trust.sum() / 2 * np.log(trust @ squares / trust.sum()))
