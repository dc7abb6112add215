"""How slow the workers of a cluster are, by what was learned of their kinds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.learn.learned import WorkerCosts

UNSEEN_WORKER = 0.25
"""Variance of the log slowness of a worker kind that was never seen, around its declared speed."""


def slowness_of(cluster: Cluster, learned: Mapping[str, WorkerCosts]) -> tuple[Floats, Floats]:
    """(workers,) log slowness and its variance; kinds never seen go by their declared speed.

    Args:
        learned: by kind. A finer kind that is not in it goes by the kind that it is part of.
    """
    slowness = np.empty(len(cluster))
    variance = np.full(len(cluster), UNSEEN_WORKER)
    reference = _at_speed_one(cluster, learned)
    for column, worker in enumerate(cluster.workers):
        known = learned.get(worker.kind) or learned.get(plain_kind(worker.kind))
        if known is None:
            slowness[column] = reference - np.log(worker.speed)
        else:
            slowness[column], variance[column] = known.log_seconds, known.variance
    return slowness, variance


def _at_speed_one(cluster: Cluster, learned: Mapping[str, WorkerCosts]) -> float:
    """By the known kinds of workers: those in the cluster, or else all that were learned."""
    present = {w.kind: w.speed for w in cluster.workers if w.kind in learned}
    speeds = present or {worker.kind: worker.speed or 1.0 for worker in learned.values()}
    known = [learned[kind].log_seconds + np.log(speeds[kind]) for kind in speeds]
    return float(np.median(known)) if known else 0.0
