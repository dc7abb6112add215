"""Stage 1, graph: what is to run, and on what. Knows nothing of time."""

from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Mode, Task
from orchestrator_core.graph.task_graph import TaskGraph

__all__ = ["Cluster", "Edge", "Link", "Mode", "Task", "TaskGraph", "Worker"]
