"""Slack: how much later a planned task could begin without a later end of the whole."""

from __future__ import annotations

import math

from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.report.why.network import Network


def slacks(network: Network, graph: TaskGraph, schedule: Schedule) -> list[float]:
    """(k,) seconds for each assignment; places and orders are kept, and deadlines that are met.

    On a worker with several threads, and for resources, a slack may be underestimated: what uses
    one after the other in the plan still does. Memory is left out of it.
    """
    limit = [schedule.makespan] * len(network.start)
    deadlines = [graph.deadline[graph.index[name]] for name in schedule.task_names]
    for row, task in enumerate(schedule.task.tolist()):
        if schedule.end[row] <= deadlines[task] < math.inf:
            limit[row] = min(limit[row], float(deadlines[task]))
    latest = [0.0] * len(network.start)
    for node in reversed(network.order):
        bound = limit[node] - network.length[node] if node < len(schedule) else math.inf
        for arc in network.out_of[node]:
            bound = min(bound, latest[arc.after] - arc.lag)
        latest[node] = bound
    return [max(0.0, latest[row] - network.start[row]) for row in range(len(schedule))]
