"""By how much repetitions of a task, and tasks of a kind, differ; from residuals, robustly."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.robust import NORMAL, group_medians, spread

NOISE, NOISE_TASKS = 0.08, 10.0
"""Standard deviation of log seconds of a repeated task; repetitions that this belief is worth."""

BETWEEN, BETWEEN_TASKS = 0.4, 3.0
"""Standard deviation of log seconds between tasks of a kind; tasks that this belief is worth."""

SAME = 0.01
"""Standard deviation between tasks of a kind is at least this: no two tasks are the same."""


def noise_of(within: Floats, repeats: Ints, jitter: Floats) -> float:
    """Standard deviation of repetitions, from those long enough for jitter not to matter.

    Args:
        within: (n,) log seconds from the middle of the task. repeats: (n,) how often it was seen.
        jitter: (n,) variance of what any duration differs by.
    """
    chosen = (repeats > 1) & (jitter < NOISE**2)
    unbiased = np.sqrt(repeats / np.maximum(repeats - 1, 1))
    found, n = spread((within * unbiased)[chosen]) ** 2, float(chosen.sum()) / 2
    return float(np.sqrt((NOISE_TASKS * NOISE**2 + n * found) / (NOISE_TASKS + n)))


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
