"""The rewrites, one after another, each with the right to fail."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TypeAlias

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Site

Rewrite: TypeAlias = Callable[[Graph, Goal], tuple[Graph, list[Site]]]
"""The same function as another graph, and what was found in it, changed or not."""

REWRITES: Mapping[str, str] = {
    "algebra": "orchestrator_core.conductor.algebra.rewrite:algebra",
    "recurrence": "orchestrator_core.conductor.recurrence.rewrite:recurrence",
    "loops": "orchestrator_core.conductor.loops.rewrite:loops",
    "tiling": "orchestrator_core.conductor.tile.rewrite:tile",
}
"""By name, in the order in which they are tried: ``module:function`` of a `Rewrite`."""


def rewritten(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """What all permitted rewrites make of a graph, within the goal's budget."""
    until = monotonic() + goal.budget_s
    sites: list[Site] = []
    for name in REWRITES:
        if not goal.permits(name):
            continue
        left_alone = _left_alone(name, goal)
        if left_alone is not None:
            sites += left_alone
        elif monotonic() < until:
            graph, found = _tried(name, graph, goal)
            sites += found
    return graph, sites


def _left_alone(name: str, goal: Goal) -> list[Site] | None:
    """The rewrite's sites, if a pinned plan says that it changes none of them."""
    if goal.pinned is None:
        return None
    sites = [site for site in goal.pinned if site.rewrite == name]
    return None if any(site.is_changed for site in sites) else sites


def _tried(name: str, graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    module, function = REWRITES[name].split(":")
    rewrite: Rewrite = getattr(importlib.import_module(module), function)
    try:
        return rewrite(graph, goal)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return graph, [Site(name, "", "the whole function", AS_IT_IS, reason)]


def in_bodies(rewrite: Rewrite, graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """A rewrite of the graph, and before it of all bodies of its loops and branches."""
    sites: list[Site] = []
    nodes = []
    for node in graph.nodes:
        done = [in_bodies(rewrite, body, goal) for body in node.bodies]
        sites += [site for _, found in done for site in found]
        if any(after is not body for (after, _), body in zip(done, node.bodies, strict=True)):
            node = with_bodies(node, [after for after, _ in done])
        nodes.append(node)
    if any(new is not old for new, old in zip(nodes, graph.nodes, strict=True)):
        graph = dataclasses.replace(graph, nodes=tuple(nodes))
    graph, found = rewrite(graph, goal)
    return graph, sites + found
