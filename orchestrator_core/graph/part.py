"""A part of a graph: some of its tasks, and the edges among them."""

from __future__ import annotations

from collections.abc import Container

from orchestrator_core.graph.task_graph import TaskGraph


def part(graph: TaskGraph, kept: Container[str]) -> TaskGraph:
    """The graph of the tasks of these names alone, in their order."""
    builder = TaskGraph.build()
    added = {builder.add(task) for task in graph.tasks() if task.name in kept}
    for edge in graph.edges():
        if edge.producer in added and edge.consumer in added:
            builder.edge(edge.producer, edge.consumer, edge.nbytes, edge.multiplicity)
    return builder.done()
