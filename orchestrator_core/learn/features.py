"""Features: what numbers that tasks are given say of how long they take.

A task of a million rows takes longer than one of ten thousand, and of another number, such as a
seed, nothing depends. So it is asked of each number that a kind of task is given, whether its runs
would have been foretold better from those before them if work grew with a power of it. Where that
is clearly so, all observations are moved to where the number is as it was last, and the power is
kept.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.foretelling import WIDE, Series
from orchestrator_core.learn.learned import FeatureCosts
from orchestrator_core.learn.overhead import USUAL, overheads_of
from orchestrator_core.learn.solver import JITTER, SHORTEST, solve
from orchestrator_core.learn.variances import NOISE

CLEARLY = 2.0
"""Log likelihood by which a number must foretell runs better."""

LEAST, SURE = 0.2, 3.0
"""An exponent of this size, and so many times its standard deviation, may be one."""

MOST = 2
"""Numbers of a kind that may matter."""


def explained(
    columns: Columns, prior: Floats
) -> tuple[Columns, tuple[tuple[FeatureCosts, ...], ...]]:
    """The columns as if all tasks were given the same numbers as the last ones, and by kind what
    the numbers say.

    `prior` (v,) is the log slowness of worker kinds, as declared.
    """
    if not columns.features:
        return columns, ((),) * len(columns.kinds)
    overhead = overheads_of(columns, USUAL)
    work = np.maximum(columns.work(overhead), SHORTEST)
    workers = solve(columns, overhead, prior, interaction=0.0).worker
    y = np.log(work) - workers[columns.worker]
    certain = 1.0 / (NOISE**2 + (JITTER / work) ** 2)
    moved, learned = np.zeros(len(columns)), []
    for kind in range(len(columns.kinds)):
        rows = np.flatnonzero(columns.kind == kind)
        _, task = np.unique(columns.task[rows], return_inverse=True)
        series = Series(y[rows], task, columns.age[rows], columns.trust[rows], certain[rows])
        given = {name: column[rows] for name, column in columns.features.items()}
        features = _of_kind(series, given)
        for each in features:
            moved[rows] -= each.exponent * np.nan_to_num(given[each.name] - each.reference)
        learned.append(features)
    if not moved.any():
        return columns, tuple(learned)
    own = np.maximum(columns.work(overhead), 0.0)
    return replace(columns, seconds=columns.seconds + own * np.expm1(moved)), tuple(learned)


def _of_kind(series: Series, given: dict[str, Floats]) -> tuple[FeatureCosts, ...]:
    """What each number says that the tasks of a kind are given."""
    known = {name: column for name, column in given.items() if np.isfinite(column).any()}
    exponents: dict[str, tuple[float, float]] = {}
    while len(exponents) < MOST and (best := _best(series, known, exponents)):
        exponents[best], series = series.explained_by(known[best])
    return tuple(
        _learned(name, column, series, exponents.get(name)) for name, column in known.items()
    )


def _best(series: Series, given: dict[str, Floats], but: Container[str]) -> str:
    """The number that foretells the runs best, if clearly better than without it; else none."""
    gains = {name: _gain(series, given[name]) for name in given if name not in but}
    best = max(gains, key=gains.__getitem__, default="")
    return best if best and gains[best] > CLEARLY else ""


def _gain(series: Series, column: Floats) -> float:
    """By how much the number foretells those runs better of which it is known."""
    known = np.isfinite(column)
    part, x = series.part(known), column[known]
    return part.gain(x) if part.may_depend_on(x) else 0.0


def _learned(
    name: str, column: Floats, series: Series, exponent: tuple[float, float] | None
) -> FeatureCosts:
    known = np.isfinite(column)
    last = column[known & (series.age == 0)]
    reference = float(np.mean(last if len(last) else column[known]))
    if exponent is not None:
        return FeatureCosts(name, *exponent, reference, *_range(column[known]))
    perhaps, variance = series.exponent(column, known)
    may_matter = abs(perhaps) > max(LEAST, SURE * variance**0.5)
    seen = _in_company(column[known], series.age[known]) if may_matter else column[known]
    return FeatureCosts(name, 0.0, 0.0, reference, *_range(seen), may_matter)


def _range(logs: Floats) -> tuple[float, float]:
    low, high = np.exp([logs.min(), logs.max()]).tolist()
    return low, high


def _in_company(logs: Floats, age: Ints) -> Floats:
    """A run's number counts where another run had about the same; all do where none has: what a
    single run says of its own number is not believed yet."""
    runs = np.bincount(age, logs) / np.maximum(np.bincount(age), 1)
    runs = runs[np.unique(age)]
    near = np.abs(runs[:, None] - runs) < WIDE
    kept = runs[near.sum(axis=1) > 1]
    return kept if len(kept) else logs
