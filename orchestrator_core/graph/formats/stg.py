"""Standard Task Graph Set (Kasahara and others, Waseda University): tasks without communication.

The number of tasks, then for each task and two dummies: id, duration, number of predecessors and
their ids. Lines that begin with `#` are comments. http://www.kasahara.cs.waseda.ac.jp/schedule/
"""

from __future__ import annotations

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.formats.activities import Activity, graph_of
from orchestrator_core.graph.formats.source import Source
from orchestrator_core.graph.task import Mode
from orchestrator_core.graph.task_graph import TaskGraph


def read(source: Source) -> tuple[TaskGraph, Cluster | None]:
    """The graph, without the dummy source and sink, a unit of time read as a second; no cluster.

    Raises:
        InvalidFormat: naming the line, what was expected and what was found.
    """
    words = source.words()
    last = words.integer("the number of tasks") + 1
    activities: list[Activity] = []
    edges: list[tuple[int, int]] = []
    for task in range(last + 1):
        words.integer(f"the id {task}", least=task, most=task)
        seconds = words.number(f"the duration of task {task}")
        activities.append(Activity(task, (Mode(seconds=seconds),)))
        for _ in range(words.integer(f"task {task}'s number of predecessors", most=last)):
            edges.append((words.integer(f"a predecessor of task {task}", most=last), task))
    words.end(f"task {last}, the last one")
    return graph_of(activities, edges, "task"), None
