"""By how much repetitions of a task, and tasks of a kind, differ; from residuals, robustly."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.robust import NORMAL, group_medians, group_sums

NOISE, NOISE_TASKS = 0.08, 10.0
"""Standard deviation of log seconds of a repeated task; repetitions that this belief is worth."""

LIKE_ITS_RUNS = 3.0
"""Repetitions of a kind that what is seen of all kinds in the same runs is worth."""

BETWEEN, BETWEEN_TASKS = 0.4, 3.0
"""Standard deviation of log seconds between tasks of a kind; tasks that this belief is worth."""

SAME = 0.01
"""Standard deviation between tasks of a kind is at least this: no two tasks are the same."""


def noise_of(columns: Columns, within: Floats, repeats: Ints, jitter: Floats) -> Floats:
    """(kinds,) standard deviation of repetitions, from those long enough for jitter not to matter.

    A kind that was repeated seldom is believed to vary as others did in the same runs, who shared
    its machines; what runs of other flows say of other tasks does not concern it.

    Args:
        within: (n,) log seconds from the middle of the task. repeats: (n,) how often it was seen.
        jitter: (n,) variance of what any duration differs by.
    """
    kinds, runs = len(columns.kinds), int(columns.run.max(initial=-1)) + 1
    chosen = (repeats > 1) & (jitter < NOISE**2)
    unbiased = np.sqrt(repeats / np.maximum(repeats - 1, 1))
    apart, kind, run = (within * unbiased)[chosen], columns.kind[chosen], columns.run[chosen]
    n, found = _repeated(apart, kind, kinds)
    n_run, found_run = _repeated(apart, run, runs)
    its, where = np.divmod(np.unique(columns.kind * runs + columns.run), max(1, runs))
    its, where = its[n_run[where] > 0], where[n_run[where] > 0]
    # The median: a run in which all was odd says nothing of the others.
    in_runs, n_runs = (
        group_medians(found_run[where], its, kinds),
        group_sums(n_run[where], its, kinds),
    )
    usual = (NOISE_TASKS * NOISE**2 + n_runs * np.nan_to_num(in_runs)) / (NOISE_TASKS + n_runs)
    return np.asarray(np.sqrt((LIKE_ITS_RUNS * usual + n * found) / (LIKE_ITS_RUNS + n)))


def _repeated(apart: Floats, group: Ints, groups: int) -> tuple[Floats, Floats]:
    """(groups,) repetitions in each, and their variance as the median sees it; 0 without any."""
    spread = NORMAL * group_medians(np.abs(apart), group, groups)
    return np.bincount(group, minlength=groups) / 2.0, np.nan_to_num(spread) ** 2


def between_of(columns: Columns, middle: Floats, own: Floats) -> Floats:
    """(kinds,) standard deviation between the tasks of each kind, what is noise taken off.

    Args:
        middle: (tasks,) log seconds from the kind. own: (tasks,) variance that is noise.
    """
    kinds, by_kind = len(columns.kinds), columns.kind_of_task
    seen = np.bincount(columns.task, minlength=len(columns.tasks)) > 0
    tasks = np.bincount(by_kind[seen], minlength=kinds)
    apart = NORMAL * group_medians(np.abs(middle[seen]), by_kind[seen], kinds)
    noise = group_medians(own[seen], by_kind[seen], kinds)
    found = np.nan_to_num(np.maximum(apart**2 - noise, 0.0))
    blend = (BETWEEN_TASKS * BETWEEN**2 + tasks * found) / (BETWEEN_TASKS + tasks)
    return np.asarray(np.sqrt(np.maximum(blend, SAME**2)))
