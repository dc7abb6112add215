"""Are the workers of an instance so alike that it does not matter which one a task gets?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance

ALIKE = "left to Dask: all workers are alike, so it does not matter which of them a task gets"


def are_alike(instance: Instance) -> bool:
    """Do all workers offer the same, take the same for each task, and have the same links?

    What takes no time does not count: Dask sends tasks to where their inputs are, too.
    """
    cluster = instance.cluster
    offers = {(w.threads, w.memory, tuple(sorted(w.resources.items()))) for w in cluster.workers}
    seconds = instance.seconds[(instance.seconds != 0).all(axis=1)]
    if len(offers) > 1 or not np.allclose(seconds, seconds[:, :1]):
        return False
    links = (cluster.latency, cluster.seconds_per_byte, cluster.encode_seconds_per_byte)
    return all(_uniform(matrix) for matrix in links)


def _uniform(matrix: ArrayLike) -> bool:
    """Is everything but the diagonal the same?"""
    square = np.asarray(matrix)
    between = square[~np.eye(len(square), dtype=bool)]
    return bool(np.allclose(between, between[:1]) if len(between) else True)
