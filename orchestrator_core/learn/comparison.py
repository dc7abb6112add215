"""Comparison: single workers beside each other, by the model and by ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.effects import Effects
from orchestrator_core.learn.ranks import rank_score
from orchestrator_core.learn.robust import group_medians, group_sums

ALIKE = 0.15
"""Part of the variance between tasks of a kind that those on one worker may have in common."""

LONG_ENOUGH = 0.02
"""Seconds of work from which on a task says something of speed."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Workers by their position in `columns.names`.

    Attributes:
        columns: in which each compared worker is a kind of its own. unit: (names,) that kind.
        slow: (v,) log slowness. covariance: (v, v) of that.
        work: (n,) seconds of work in each observation.
    """

    columns: Columns
    unit: Ints
    slow: Floats
    covariance: Floats
    work: Floats

    @classmethod
    def of(cls, columns: Columns, effects: Effects, overhead: Floats, unit: Ints) -> Comparison:
        """From the effects of the model with these columns; `overhead` is (kinds,) seconds."""
        covariance = effects.worker_covariance + np.diag(_in_common(columns, effects))
        return cls(columns, unit, effects.worker, covariance, columns.work(overhead))

    def slowness(self, name: int) -> float:
        """Log slowness of a worker."""
        return float(self.slow[self.unit[name]])

    def difference(self, names: list[int], others: list[int]) -> tuple[float, float]:
        """By how much slower (log) these are than the others on average; and its deviation."""
        contrast = np.zeros(len(self.slow))
        contrast[self.unit[names]] += 1.0 / len(names)
        contrast[self.unit[others]] -= 1.0 / len(others)
        variance = float(contrast @ self.covariance @ contrast)
        return float(contrast @ self.slow), float(np.sqrt(variance))

    def ranked(self, name: int, others: list[int]) -> float:
        """The `rank_score` in the direction in which the model says that the worker differs.

        Tasks that ran on both sides are compared with themselves, all others with their kind.
        """
        columns = self.columns
        chosen = np.isin(columns.name, [name, *others]) & (self.work >= LONG_ENOUGH)
        tasks = len(columns.tasks)
        cell = columns.task[chosen] + tasks * (columns.name[chosen] == name)
        middle = group_medians(np.log(self.work[chosen]), cell, 2 * tasks)
        cells = np.flatnonzero(~np.isnan(middle))
        task, ours = cells % tasks, cells >= tasks
        both = np.bincount(task, minlength=tasks)[task] == 2
        stratum = np.where(both, task, tasks + columns.kind_of_task[task])
        slower = self.difference([name], others)[0] > 0
        return rank_score(middle[cells], stratum, ours) * (1 if slower else -1)


def _in_common(columns: Columns, effects: Effects) -> Floats:
    """(v,) variance of each worker's slowness from what its tasks may have in common.

    None of it is in the comparison of a task with itself, on two workers.
    """
    v, t = len(columns.worker_kinds), len(columns.tasks)
    between = effects.between[columns.kind_of_task] ** 2
    precision = columns.trust / effects.noise[columns.kind] ** 2
    s = group_sums(precision, columns.task * v + columns.worker, t * v).reshape(t, v)
    total = s.sum(axis=1, keepdims=True)
    told = s - s**2 / (total + 1.0 / between[:, None])
    alone = (s > 0).sum(axis=1) == 1
    share = told[alone].sum(axis=0) / np.maximum(told.sum(axis=0), 1e-12)
    usual = (told * between[:, None]).sum(axis=0) / np.maximum(told.sum(axis=0), 1e-12)
    return np.asarray(ALIKE * share**2 * usual)
