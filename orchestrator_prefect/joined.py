"""The plans of several epochs as one: what a worker was given earlier, it does first.

An epoch is planned as if all workers were free. Where tasks of an earlier one still run, its tasks
begin later than its plan says, and so does all that waits for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.delayed import delayed_row, delayed_transfer
from orchestrator_core.plan.schedule import Assignment, Schedule


def joined(schedules: Sequence[Schedule], graph: TaskGraph, cluster: Cluster) -> Schedule:
    """The schedules, which count from the same moment, as one.

    Tasks keep their worker; by their planned start they take the first thread that is free.

    Args:
        graph: of all their tasks, each once in all schedules together.
    """
    rows = {row.task: row for each in schedules for row in each.assignments}
    travels = {
        (sent.task, sent.destination): sent.end - rows[sent.task].end
        for each in schedules
        for sent in each.transfers
    }
    threads = {worker.name: worker.threads for worker in cluster.workers}
    later = _delays(rows, travels, graph, threads)
    return Schedule(
        [delayed_row(row, later[name]) for name, row in rows.items()],
        [delayed_transfer(sent, later[sent.task]) for each in schedules for sent in each.transfers],
    )


def _delays(
    rows: Mapping[str, Assignment],
    travels: Mapping[tuple[str, str], float],
    graph: TaskGraph,
    threads: Mapping[str, int],
) -> dict[str, float]:
    """By how many seconds each task begins later than its own plan says.

    Args:
        travels: seconds from a task's end until another worker has its output.
    """
    after = {name: _consumers(graph, name, rows) for name in rows}
    missing: dict[str, int] = defaultdict(int)
    for consumers in after.values():
        for name in consumers:
            missing[name] += 1
    ready = [(row.start, name) for name, row in rows.items() if not missing[name]]
    heapify(ready)
    free = {row.worker: [0.0] * threads.get(row.worker, 1) for row in rows.values()}
    inputs: dict[str, float] = defaultdict(float)
    later: dict[str, float] = {}
    while ready:
        _, name = heappop(ready)
        row = rows[name]
        start = max(row.start, free[row.worker][0], inputs[name])
        later[name], end = start - row.start, start - row.start + row.end
        heapreplace(free[row.worker], end)
        for consumer in after[name]:
            arrival = end + travels.get((name, rows[consumer].worker), 0.0)
            inputs[consumer] = max(inputs[consumer], arrival)
            missing[consumer] -= 1
            if not missing[consumer]:
                heappush(ready, (rows[consumer].start, consumer))
    return later


def _consumers(graph: TaskGraph, name: str, rows: Mapping[str, Assignment]) -> list[str]:
    """Those that were planned."""
    names = [graph.names[place] for place in graph.successors(graph.index[name]).tolist()]
    return [each for each in names if each in rows]
