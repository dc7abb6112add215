"""Keys: under which signatures a graph on a cluster is remembered."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.bucket import cost_bucket
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.signature import Signature, cluster_signature, graph_signature
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.store.base import ScheduleKey


@dataclass(frozen=True, slots=True)
class Keys:
    """Signatures of a graph and a cluster, each with its canonical order."""

    graph: Signature
    cluster: Signature

    @staticmethod
    def of(graph: TaskGraph, cluster: Cluster) -> Keys:
        return Keys(graph_signature(graph), cluster_signature(cluster))

    def priced(self, instance: Instance, objective: Objective = MAKESPAN) -> ScheduleKey:
        """The key of a schedule of `instance`, which prices that graph on that cluster."""
        return ScheduleKey(
            self.graph.digest, self.cluster.digest, str(objective), cost_bucket(instance)
        )

    def prices(self, instance: Instance) -> str:
        """A digest of all that `instance` adds to its graph and cluster, in canonical order.

        Durations, sizes and links: where it is the same, a schedule has the same times and a
        bound is the same bound.
        """
        graph, workers = instance.graph, self.cluster.order
        modes = np.concatenate(
            [np.arange(graph.mode_ptr[task], graph.mode_ptr[task + 1]) for task in self.graph.order]
            or [np.zeros(0, np.int64)]
        )
        place = self.graph.place
        by_place = np.lexsort((place[graph.consumer], place[graph.producer]))
        columns = (
            instance.seconds[np.ix_(modes, workers)],
            graph.output_bytes[self.graph.order],
            graph.nbytes[by_place],
            *(
                links[np.ix_(workers, workers)]
                for links in (
                    instance.cluster.latency,
                    instance.cluster.seconds_per_byte,
                    instance.cluster.encode_seconds_per_byte,
                )
            ),
        )
        digest = hashlib.sha256()
        for column in columns:
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()
