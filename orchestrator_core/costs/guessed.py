"""GuessedCosts: what is taken where nobody knows anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph


@dataclass(frozen=True)
class GuessedCosts:
    """The same for every task: so many seconds at speed 1, and outputs of a byte."""

    seconds: float = 1.0

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        speed = np.array([worker.speed for worker in cluster.workers])
        return np.broadcast_to(self.seconds / speed, (graph.n_modes, len(cluster))).copy()

    def output_bytes(self, graph: TaskGraph) -> Floats:
        return np.ones(len(graph))
