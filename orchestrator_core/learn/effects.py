"""Effects: what is estimated of kinds of tasks, of workers and of tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The solved model; k kinds, v worker kinds, t tasks. All but `noise` in log seconds.

    Attributes:
        kind: (k,) level. worker: (v,). worker_covariance: (v, v). pair, pair_variance: (k, v).
        task, task_variance: (t,). between: (k,) standard deviation of `task` in each kind.
        noise: standard deviation of repetitions. interaction: that expected of `pair`.
        surprise: minus the log likelihood, up to a constant; compares overheads.
    """

    kind: Floats
    worker: Floats
    worker_covariance: Floats
    pair: Floats
    pair_variance: Floats
    task: Floats
    task_variance: Floats
    between: Floats
    noise: float
    interaction: float
    surprise: float

    @property
    def worker_variance(self) -> Floats:
        """(v,)."""
        return np.diagonal(self.worker_covariance)
