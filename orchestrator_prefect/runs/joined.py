"""The plans of several epochs as one: what a worker was given earlier, it does first.

An epoch is planned as if all workers were free. Where tasks of an earlier one still run, its tasks
begin later than its plan says, and so does all that waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.execute.paced import paced
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule


def joined(schedules: Sequence[Schedule], graph: TaskGraph, cluster: Cluster) -> Schedule:
    """The schedules, which count from the same moment, as one.

    Tasks keep their worker; by their planned start they take the first thread that is free.

    Args:
        graph: of all their tasks, each once in all schedules together.
    """
    rows = [row for each in schedules for row in each.assignments]
    sent = [transfer for each in schedules for transfer in each.transfers]
    return paced(Schedule(rows, sent), graph, cluster).schedule
