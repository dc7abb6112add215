"""Sizes of outputs: what a task gave before it gives again; a new task gives what its kind does.

And the memory that a kind takes while it runs, and the seconds before its first one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.robust import NORMAL, group_medians

NOISE = 0.1
"""Standard deviation of log bytes of one task repeated, as long as little is seen."""

LEAST_SETUP = 0.05
"""Seconds; what takes less compiles nothing, but looks up what was compiled."""

MEMORY_QUANTILE = 0.9
"""Part of the executions that must have taken no more memory.

A process that has freed memory keeps it, and what runs next there seems to take none: most
executions tell too little, none too much but the first, which may have loaded a library.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """Bytes by `Columns.tasks` and by `Columns.kinds`; NaN where not known."""

    task: Floats
    kind: Floats


def sizes_of(columns: Columns) -> Sizes:
    """Medians in the logarithm; a task's is drawn to its kind's as far as the kind is uniform."""
    kinds, tasks = len(columns.kinds), len(columns.tasks)
    known = ~np.isnan(columns.nbytes)
    log, task = np.log1p(columns.nbytes[known]), columns.task[known]
    middle = group_medians(log, task, tasks)
    seen = ~np.isnan(middle)
    of_kind = columns.kind_of_task
    level = group_medians(middle[seen], of_kind[seen], kinds)
    apart = np.abs(middle - level[of_kind])
    between = NORMAL * group_medians(apart[seen], of_kind[seen], kinds)
    samples = np.bincount(task, minlength=tasks)
    # At least what the task itself shows: one odd task in a uniform kind is odd, not noise.
    variance = np.maximum(between[of_kind], apart) ** 2
    belief = samples * variance / np.maximum(samples * variance + NOISE**2, 1e-12)
    drawn = level[of_kind] + belief * (middle - level[of_kind])
    return Sizes(task=np.expm1(drawn), kind=np.expm1(level))


def memory_of(columns: Columns) -> Floats:
    """(kinds,) bytes that a task of the kind takes while it runs; NaN where nobody measured.

    At least its output, which is made while it runs.
    """
    taken = np.fmax(columns.memory, columns.nbytes)
    taken[np.isnan(columns.memory)] = np.nan
    memory = np.full(len(columns.kinds), np.nan)
    for kind in range(len(columns.kinds)):
        known = taken[columns.kind == kind]
        known = known[~np.isnan(known)]
        if len(known):
            memory[kind] = np.quantile(known, MEMORY_QUANTILE, method="higher")
    return memory


def device_memory_of(columns: Columns) -> Floats:
    """(kinds,) bytes that a task of the kind needs on an accelerator at most; NaN where not known.

    The most that was needed, since it was computed before and not measured: of the shapes that were
    met, none needs more.
    """
    memory = np.full(len(columns.kinds), np.nan)
    for kind in range(len(columns.kinds)):
        known = columns.device[(columns.kind == kind) & ~np.isnan(columns.device)]
        if len(known):
            memory[kind] = known.max()
    return memory


def setup_of(columns: Columns) -> Floats:
    """(kinds,) seconds for which a process compiles before its first task of the kind; NaN where
    none was seen to.

    The median of those that took long enough, as most tasks find what others have compiled, in the
    latest run in which any did: what one run compiles, the processes of the next may load.
    """
    long = columns.setup >= LEAST_SETUP
    latest = np.full(len(columns.kinds), np.iinfo(np.int64).max)
    np.minimum.at(latest, columns.kind[long], columns.age[long])
    chosen = long & (columns.age == latest[columns.kind])
    return group_medians(columns.setup[chosen], columns.kind[chosen], len(columns.kinds))
