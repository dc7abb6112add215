"""How slow the workers of a cluster are, by what was learned of their kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.learned import WorkerCosts

UNSEEN_WORKER = 0.25
"""Variance of the log slowness of a worker kind that was never seen, around its declared speed."""


def slowness_of(cluster: Cluster, learned: Sequence[WorkerCosts]) -> tuple[Floats, Ints]:
    """(workers,) log slowness, and the place in `learned` of what it is from; -1 for kinds never
    seen, which go by their declared speed. A finer kind that is not learned goes by the kind that
    it is part of."""
    places = {worker.kind: place for place, worker in enumerate(learned)}
    place: Ints = np.array(
        [places.get(w.kind, places.get(plain_kind(w.kind), -1)) for w in cluster.workers],
        dtype=np.int64,
    )
    reference = _at_speed_one(cluster, {worker.kind: worker for worker in learned})
    slowness = [
        reference - np.log(worker.speed) if at < 0 else learned[at].log_seconds
        for worker, at in zip(cluster.workers, place.tolist(), strict=True)
    ]
    return np.array(slowness), place


def _at_speed_one(cluster: Cluster, learned: Mapping[str, WorkerCosts]) -> float:
    """By the known kinds of workers: those in the cluster, or else all that were learned."""
    present = {w.kind: w.speed for w in cluster.workers if w.kind in learned}
    speeds = present or {worker.kind: worker.speed or 1.0 for worker in learned.values()}
    known = [learned[kind].log_seconds + np.log(speeds[kind]) for kind in speeds]
    return float(np.median(known)) if known else 0.0
