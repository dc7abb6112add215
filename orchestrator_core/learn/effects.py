"""Effects: what is estimated of kinds of tasks, of workers and of tasks."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.graph.task_graph import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """The solved model; k kinds, v worker kinds, t tasks. All in log seconds.

    Attributes:
        kind: (k,) level. worker: (v,). worker_covariance: (v, v). pair, pair_variance: (k, v).
        slowness_variance: (k, v) of each worker kind beside those that the kind of tasks ran on:
            what no run has compared, such as the workers of another cluster, is none of it.
        task, task_variance: (t,). between: (k,) standard deviation of `task` in each kind.
        noise: (k,) standard deviation of repetitions. interaction: that expected of `pair`.
        surprise: minus the log likelihood, up to a constant; compares overheads.
    """

    kind: Floats
    worker: Floats
    worker_covariance: Floats
    slowness_variance: Floats
    pair: Floats
    pair_variance: Floats
    task: Floats
    task_variance: Floats
    between: Floats
    noise: Floats
    interaction: float
    surprise: float
