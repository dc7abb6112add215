"""What was handed in for a graph, a cluster or a cost model: is it one?"""

from __future__ import annotations

from numbers import Real

from orchestrator_core.errors import InvalidInstance
from orchestrator_core.graph.builder import GraphBuilder
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.text import shown


def check_given(graph: object, cluster: object) -> None:
    """
    Raises:
        InvalidInstance: unless they are a graph and a cluster.
    """
    if isinstance(graph, Cluster) and isinstance(cluster, (TaskGraph, GraphBuilder)):
        raise InvalidInstance("the graph comes first, then the cluster; here they are swapped")
    if isinstance(graph, GraphBuilder):
        raise InvalidInstance("the graph is still a GraphBuilder; its done() gives the TaskGraph")
    if not isinstance(graph, TaskGraph):
        raise InvalidInstance(
            f"the graph is {_what(graph)}; give a TaskGraph, as TaskGraph.build() makes"
        )
    if not isinstance(cluster, Cluster):
        raise InvalidInstance(
            f"the cluster is {_what(cluster)}; give a Cluster, such as Cluster([Worker('w0')])"
        )


def check_costs(costs: object) -> None:
    """
    Raises:
        InvalidInstance: if it cannot be asked for durations.
    """
    if not callable(getattr(costs, "compute_seconds", None)) or isinstance(costs, type):
        raise InvalidInstance(
            f"costs is {_what(costs)}; give a cost model, such as TableCosts(...), or None for "
            "the graph's own seconds"
        )


def check_quantile(quantile: object) -> None:
    """
    Raises:
        InvalidInstance: unless it is a part of all runs, neither none nor all.
    """
    if not (isinstance(quantile, Real) and 0 < float(quantile) < 1):
        raise InvalidInstance(
            f"quantile={shown(quantile)}: expected a number between 0 and 1, such as 0.5"
        )


def _what(value: object) -> str:
    return "None" if value is None else f"{shown(value)}, a {type(value).__name__}"
