"""An advisor that has a plan for everything at once: what planning costs is not measured here."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.promises import promised

SECONDS = 0.001
"""That each task is believed to take."""


class TrivialAdvisor:
    """Consecutive columns of the graph on each worker, in topological order."""

    def advise(
        self, graph: TaskGraph, cluster: Cluster, flow: str, objective: str | None = None
    ) -> Advice:
        plan = promised(_schedule(graph, cluster), reason="everything is planned")
        seconds = np.full((len(graph), len(cluster)), SECONDS)
        instance = Instance(graph, cluster, seconds)
        return Advice(plan, plan.reason, "graph", "cluster", instance=instance)

    def record(self, run: RunRecord) -> None:
        return None

    def close(self) -> None:
        return None


def _schedule(graph: TaskGraph, cluster: Cluster) -> Schedule:
    free = dict.fromkeys(cluster.names, 0.0)
    column = {name: int(name.rsplit(",", 1)[1].strip(" )")) for name in graph.names}
    width = 1 + max(column.values())
    assignments = []
    for i in graph.topological.tolist():
        name = graph.names[i]
        worker = cluster.names[column[name] * len(cluster) // width]
        assignments.append(Assignment(name, worker, free[worker], free[worker] + SECONDS))
        free[worker] += SECONDS
    return Schedule(assignments)
