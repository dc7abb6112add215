"""Series: how well the runs of a kind of task would have been foretold from those before them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import HALF_LIFE

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

HALF_LIVES = np.array([HALF_LIFE, HALF_LIFE, 1.0, 1.0])
PULL = np.array([0.2, 5.0, 0.2, 5.0])
"""Ways in which runs are foretold: half-life of the memory in runs, and executions of a task that
what is known of its kind is worth. The best of them counts."""

RUNS = 16
"""Newest runs that are foretold; those before them are only learned from."""

FEWEST = 3
"""Runs without which nothing is said."""

UNSEEN = 0.1
"""Deviation (log) that nobody takes for a mistake."""

WIDE = np.log(1.5)
"""By so much (log) a number has to vary to tell anything."""

STEEPEST = 3.0
"""Exponents are within this of 0."""

AS_GOOD = 0.5
"""Log likelihood by which a steady growth may do better and yet be none."""

REPEATED = 0.8
"""Part of the mean of a task seen more than once that is taken off it: what differs from task to
task beside the number is little of what differs between its repetitions."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Executions of a kind; n of them.

    Attributes:
        y: (n,) log seconds, the worker's part off. task: (n,) which task.
        age: (n,) runs since; 0 for the newest. trust: (n,) less for older runs.
        certain: (n,) one over the variance of y that is none of the task's own.
    """

    y: Floats
    task: Ints
    age: Ints
    trust: Floats
    certain: Floats

    def part(self, rows: Mask) -> Series:
        """These rows alone."""
        _, task = np.unique(self.task[rows], return_inverse=True)
        return Series(self.y[rows], task, self.age[rows], self.trust[rows], self.certain[rows])

    def may_depend_on(self, x: Floats) -> bool:
        """Is there enough to tell?"""
        return bool(np.ptp(x) > WIDE and len(np.unique(self.age)) >= FEWEST)

    def gain(self, x: Floats) -> float:
        """Log likelihood of the runs, each foretold from those before it, if work grew with a power
        of what `x` is the logarithm of, over that if it did not; 0, if a steady growth from run to
        run tells more."""
        ages = np.unique(self.age)[::-1]
        memory, trend = _Memory(int(self.task.max()) + 1), _Trend()
        without, having, growing = np.zeros((3, len(PULL)))
        for i, age in enumerate(ages.tolist()):
            now = self.age == age
            y, of, task, certain = self.y[now], x[now], self.task[now], self.certain[now]
            if i and len(ages) - i <= RUNS:
                weight = 0.5 ** (age / HALF_LIFE)
                exponent, _ = self.exponent(x, self.age > age)
                foretold_y, foretold_x = memory.foretold(task)
                off, explained = y[:, None] - foretold_y, of[:, None] - foretold_x
                without += weight * _surprise(off, certain)
                growing += weight * _surprise(off - trend.foretold, certain)
                having += weight * _surprise(off - exponent * explained, certain)
                trend.add(certain @ off / certain.sum())
            memory.add(y, of, task, certain)
        best = having.min()
        # What grows from run to run passes for the cause of whatever else does.
        is_cause = best < growing.min() + AS_GOOD
        return float(without.min() - best) if is_cause else 0.0

    def explained_by(self, x: Floats) -> tuple[tuple[float, float], Series]:
        """The exponent and its variance, and the series without what it explains; NaN, where the
        number is not known."""
        known = np.isfinite(x)
        exponent, variance = self.exponent(x, known)
        rest = self.y - exponent * np.nan_to_num(x - x[known].mean())
        return (exponent, variance), replace(self, y=rest)

    def exponent(self, x: Floats, rows: Mask) -> tuple[float, float]:
        """By these rows; and its variance. 0 where the number was the same in all of them."""
        x, y, task, age = x[rows], self.y[rows], self.task[rows], self.age[rows]
        if np.ptp(x) <= WIDE:
            return 0.0, 0.0
        weight = self.trust[rows] * self.certain[rows]
        x, y = (_less_own(each, task, weight) for each in (x, y))
        x = x - np.average(x, weights=weight)
        y = y - np.average(y, weights=weight)
        spread = max(float(weight @ x**2), 1e-12)
        exponent = float(np.clip(weight @ (x * y) / spread, -STEEPEST, STEEPEST))
        # What a run has in common is seen once, however many tasks it has.
        by_run = np.bincount(age, weight * x * (y - exponent * x))
        return exponent, float(by_run @ by_run / spread**2)


class _Memory:
    """What was seen so far of a kind and of its tasks, in each of the ways."""

    def __init__(self, tasks: int) -> None:
        self._sums = np.zeros((2, tasks, len(PULL)))
        self._weight = np.zeros((tasks, len(PULL)))

    def foretold(self, task: Ints) -> Floats:
        """(2, n, ways) y and x."""
        usual = self._sums.sum(axis=1) / self._weight.sum(axis=0)
        known = self._sums[:, task] + PULL * usual[:, None]
        found: Floats = known / (self._weight[task] + PULL)
        return found

    def add(self, y: Floats, x: Floats, task: Ints, certain: Floats) -> None:
        """A run came to its end."""
        fade = 0.5 ** (1.0 / HALF_LIVES)
        self._sums *= fade
        self._weight *= fade
        weight = certain / certain.max()
        for sums, values in zip(self._sums, (y, x), strict=True):
            np.add.at(sums, task, (weight * values)[:, None])
        np.add.at(self._weight, task, weight[:, None])


class _Trend:
    """By how much runs were longer than foretold from those before them, in each of the ways."""

    FADE = 0.7

    def __init__(self) -> None:
        self._sum, self._weight = np.zeros(len(PULL)), 0.0

    @property
    def foretold(self) -> Floats:
        """(ways,)"""
        return self._sum / max(self._weight, 1.0)

    def add(self, off: Floats) -> None:
        """A run was longer by so much (log)."""
        self._sum, self._weight = off + self.FADE * self._sum, 1.0 + self.FADE * self._weight


def _surprise(off: Floats, certain: Floats) -> Floats:
    """(ways,) of one run whose tasks were foretold wrongly by so much."""
    found: Floats = np.log(certain @ off**2 / certain.sum() + UNSEEN**2) / 2
    return found


def _less_own(values: Floats, task: Ints, weight: Floats) -> Floats:
    """The values less a part of the mean of their task, where it was seen more than once."""
    total = np.bincount(task, weight)
    mean = np.bincount(task, weight * values) / np.maximum(total, 1e-12)
    part = np.where(np.bincount(task) > 1, REPEATED, 0.0)
    found: Floats = values - (part * mean)[task]
    return found
