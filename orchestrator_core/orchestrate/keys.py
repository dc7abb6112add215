"""Keys: under which signatures a graph on a cluster is remembered."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.costs.bucket import cost_bucket
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.signature import Signature, cluster_signature, graph_signature
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.store.base import ScheduleKey


@dataclass(frozen=True, slots=True)
class Keys:
    """Signatures of a graph and a cluster, each with its canonical order."""

    graph: Signature
    cluster: Signature

    @staticmethod
    def of(graph: TaskGraph, cluster: Cluster) -> Keys:
        return Keys(graph_signature(graph), cluster_signature(cluster))

    def priced(self, instance: Instance) -> ScheduleKey:
        """The key of a schedule of `instance`, which prices that graph on that cluster."""
        return ScheduleKey(
            self.graph.digest, self.cluster.digest, "makespan", cost_bucket(instance)
        )
