"""CostModel: a belief about how long tasks take and how large their outputs are (stage 2).

A model answers for a whole graph at once and says NaN where it does not know; `FirstKnown` asks
one model after another. What was learned from runs comes in as a model too, handed over as a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, TaskGraph


class CostModel(Protocol):
    """Beliefs about a graph on a cluster. Implementations are pure: same question, same answer."""

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        """(modes, workers) seconds that each mode runs on each worker; NaN where not known.

        `quantile` in (0, 1) asks for the duration that is not exceeded with that probability; a
        model without knowledge of the spread answers with its best guess.
        """
        ...

    def output_bytes(self, graph: TaskGraph) -> Floats:
        """(tasks,) size of each output in bytes; NaN where not known."""
        ...


@dataclass(frozen=True)
class GraphCosts:
    """What the graph itself states: `seconds` at speed 1 divided by the worker's speed."""

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        speed = np.array([worker.speed for worker in cluster.workers])
        seconds: Floats = graph.mode_seconds[:, None] / speed[None, :]
        return seconds

    def output_bytes(self, graph: TaskGraph) -> Floats:
        return np.array(graph.output_bytes)


@dataclass(frozen=True)
class TableCosts:
    """Seconds by (task kind, worker kind); sizes by task kind."""

    seconds: Mapping[tuple[str, str], float]
    nbytes: Mapping[str, float] | None = None

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        by_kind = np.array(
            [
                [self.seconds.get((kind, worker.kind), np.nan) for worker in cluster.workers]
                for kind in graph.kinds
            ]
        ).reshape(len(graph.kinds), len(cluster))
        return by_kind[graph.kind_of[graph.mode_task]]

    def output_bytes(self, graph: TaskGraph) -> Floats:
        sizes = self.nbytes or {}
        return np.array([sizes.get(kind, np.nan) for kind in graph.kinds])[graph.kind_of]


@dataclass(frozen=True)
class FirstKnown:
    """The answer of the first model that knows."""

    models: Sequence[CostModel]

    def compute_seconds(self, graph: TaskGraph, cluster: Cluster, quantile: float = 0.5) -> Floats:
        answer = np.full((graph.n_modes, len(cluster)), np.nan)
        for model in self.models:
            if not np.isnan(answer).any():
                break
            seconds = model.compute_seconds(graph, cluster, quantile)
            answer = np.where(np.isnan(answer), seconds, answer)
        return answer

    def output_bytes(self, graph: TaskGraph) -> Floats:
        answer = np.full(len(graph), np.nan)
        for model in self.models:
            answer = np.where(np.isnan(answer), model.output_bytes(graph), answer)
        return answer
