"""Overheads that were measured: what a task of a kind costs around its own code, on each worker.

Most of it is of the worker: one that runs several tasks at a time lets them wait for each other
while their states are told. So a kind differs from the others by the same seconds everywhere, as
long as little is known of it on one of the workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.robust import group_medians

RECENT = 0.5
"""Trust that an observation needs, if what happened in it is to count for how it is now."""

PAIR = 2.0
"""Executions of a kind on a worker kind that count as much as what is said of both alone."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredOverhead:
    """Seconds, NaN for kinds of which nobody measured any; k kinds, v worker kinds.

    Attributes:
        usual: (k,) on workers of other kinds. on: (k, v).
    """

    usual: Floats
    on: Floats

    @classmethod
    def of(cls, columns: Columns) -> MeasuredOverhead:
        """Medians of what was observed lately."""
        k, v = len(columns.kinds), len(columns.worker_kinds)
        known = ~np.isnan(columns.overhead) & (columns.trust >= RECENT)
        seconds, kind, worker = columns.overhead[known], columns.kind[known], columns.worker[known]
        if not len(seconds):
            return cls(np.full(k, np.nan), np.full((k, v), np.nan))
        everywhere = float(np.median(seconds))
        of_worker = np.nan_to_num(group_medians(seconds, worker, v), nan=everywhere)
        of_kind = group_medians(seconds - of_worker[worker], kind, k)
        expected = np.maximum(of_kind[:, None] + of_worker, 0.0)
        cell = kind * v + worker
        seen = np.bincount(cell, minlength=k * v).reshape(k, v)
        own = group_medians(seconds, cell, k * v).reshape(k, v)
        drawn = expected + seen / (seen + PAIR) * (own - expected)
        on = np.where(np.isnan(own), expected, drawn)
        return cls(np.maximum(of_kind + everywhere, 0.0), on)

    def filled_into(self, columns: Columns) -> Columns:
        """The columns; where nobody measured, with what was measured of others of the kind."""
        usual = np.minimum(self.on[columns.kind, columns.worker], columns.seconds)
        missing = np.isnan(columns.overhead)
        return replace(columns, overhead=np.where(missing, usual, columns.overhead))
