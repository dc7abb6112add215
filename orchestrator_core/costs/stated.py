"""StatedCosts: what the graph itself states, and how far from it tasks may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from orchestrator_core.costs.model import GraphCosts
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph


@dataclass(frozen=True)
class StatedCosts(GraphCosts):
    """As `GraphCosts`; durations are spread log-normally around what is stated.

    Attributes:
        spread: standard deviation over stated seconds, by the name of the task without its number
            (``train`` for ``train-3``); where none is stated, the stated seconds are certain.
    """

    spread: Mapping[str, float] = field(default_factory=dict)

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        seconds = super().compute_seconds(graph, cluster)
        if quantile == 0.5 or not self.spread:
            return seconds
        share = np.array([self.spread.get(name.rpartition("-")[0], 0.0) for name in graph.names])
        factor = np.exp(NormalDist().inv_cdf(quantile) * np.sqrt(np.log1p(share**2)))
        answer: Floats = seconds * factor[graph.mode_task][:, None]
        return answer
