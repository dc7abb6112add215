"""Anywhere: tasks of a graph that are bound to no workers any more."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from orchestrator_core.graph.task_graph import Demand, TaskGraph


def anywhere(graph: TaskGraph, names: Collection[str]) -> TaskGraph:
    """The graph where the tasks of these names, which have one mode each, may run on any worker and
    take nothing else of it; the graph itself without names.

    Raises:
        KeyError: for a name that is not of the graph.
    """
    if not names:
        return graph
    demand_of = graph.demand_of.copy()
    demand_of[graph.mode_ptr[[graph.index[name] for name in names]]] = len(graph.demands)
    demand_of.flags.writeable = False
    return replace(graph, demands=(*graph.demands, Demand()), demand_of=demand_of)
