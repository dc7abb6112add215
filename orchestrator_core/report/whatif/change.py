"""Change: what is to be different, and the instance of a run in which it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.report.priced import RunPrices


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be different.

    Attributes:
        add: workers that join; their links are those of a worker of their kind, else the median.
        remove: names of workers that go.
        faster: by kind of task, by what its seconds are divided; > 0.
        memory: by what the memory of every worker is multiplied; > 0.
    """

    add: tuple[Worker, ...] = ()
    remove: tuple[str, ...] = ()
    faster: Mapping[str, float] = field(default_factory=dict)
    memory: float = 1.0

    def instance(self, prices: RunPrices) -> Instance:
        """The run with the change.

        Raises:
            InvalidInput: if no worker is left. InfeasibleInstance: if a task can run nowhere.
        """
        priced = prices.on(self.cluster(prices.run.cluster))
        graph = priced.graph
        factors = np.array([self.faster.get(kind, 1.0) for kind in graph.kinds])
        per_mode = factors[graph.kind_of[graph.mode_task]]
        return Instance(graph, priced.cluster, priced.seconds / per_mode[:, None])

    def cluster(self, before: Cluster) -> Cluster:
        """The workers with the change.

        Raises:
            InvalidInput: if none is left.
        """
        rows = [i for i, worker in enumerate(before.workers) if worker.name not in self.remove]
        workers = [*(before.workers[i] for i in rows), *self.add]
        if not workers:
            raise InvalidInput(
                f"no worker is left: all {len(before)} of the run are removed; add some with --add"
            )
        sources = [*rows, *(_like(before, worker) for worker in self.add)]
        return Cluster.from_matrices(
            [replace(worker, memory=worker.memory * self.memory) for worker in workers],
            latency=_links(before.latency, sources),
            seconds_per_byte=_links(before.seconds_per_byte, sources),
            encode_seconds_per_byte=_links(before.encode_seconds_per_byte, sources),
            stock=before.stock,
        )


def _like(cluster: Cluster, worker: Worker) -> int | None:
    """The worker of the cluster whose links a new one is to have."""
    same = (i for i, each in enumerate(cluster.workers) if each.kind == worker.kind)
    return next(same, None)


def _links(matrix: Floats, sources: list[int | None]) -> Floats:
    """The matrix for workers that have the links of those at `sources`; None for the median."""
    w = len(matrix)
    between = matrix[~np.eye(w, dtype=bool)]
    median = float(np.median(between)) if len(between) else 0.0
    wide = np.full((w + 1, w + 1), median)
    wide[:w, :w] = np.where(np.eye(w, dtype=bool), median, matrix)
    at = np.array([w if source is None else source for source in sources])
    return np.asarray(wide[np.ix_(at, at)], dtype=np.float64)
