"""Patterson's format for project scheduling (.rcp; RanGen, and PSPLIB's sets in many copies).

The number of activities and of resources; a capacity for each resource; then for each activity
its duration, a requirement for each resource, the number of successors, and these, from 1.
"""

from __future__ import annotations

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.formats.activities import Activity, amounts, graph_of, project
from orchestrator_core.graph.formats.source import Source, Words
from orchestrator_core.graph.task import Mode
from orchestrator_core.graph.task_graph import TaskGraph


def read(source: Source) -> tuple[TaskGraph, Cluster | None]:
    """The graph without dummy ends, a unit of time read as a second, and the project as cluster.

    Raises:
        InvalidFormat: naming the line, what was expected and what was found.
    """
    words = source.words()
    n = words.integer("the number of activities", least=1)
    r = words.integer("the number of resources")
    capacities = [words.integer(f"the capacity of resource {k + 1}") for k in range(r)]
    activities: list[Activity] = []
    edges: list[tuple[int, int]] = []
    for i in range(n):
        activities.append(_activity(words, i + 1, capacities))
        for _ in range(words.integer(f"activity {i + 1}'s number of successors", most=n)):
            successor = words.integer(f"a successor of activity {i + 1}", least=1, most=n)
            edges.append((i, successor - 1))
    words.end(f"activity {n}, the last one")
    graph = graph_of(activities, edges, "activity")
    return graph, project(graph, capacities)


def _activity(words: Words, number: int, capacities: list[int]) -> Activity:
    seconds = words.number(f"the duration of activity {number}")
    needs = [
        words.integer(f"activity {number}'s requirement of resource {k}")
        for k in range(1, len(capacities) + 1)
    ]
    return Activity(number, (Mode(seconds=seconds, resources=amounts("R", needs)),))
