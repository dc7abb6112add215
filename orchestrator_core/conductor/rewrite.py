"""What a rewrite is, how it is tried, and how it is carried into loops and branches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph, complete
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.site import Site

Rewrite: TypeAlias = Callable[[Graph, Goal], tuple[Graph, list[Site]]]
"""The same function as another graph, and what was found in it, changed or not."""

WHOLE = "the whole function"
"""Where a rewrite that fails is said to have found something."""

SPENT = "not tried: the seconds of budget_s were spent"
"""Why something was left that nobody has looked at."""


def tried(
    name: str, rewrite: Rewrite, graph: Graph, goal: Goal, part: str = ""
) -> tuple[Graph, list[Site]]:
    """A rewrite with the right to fail: the graph stays as it is then, and a site says why.

    Args:
        part: of the rewrite of this name, which one failed, in words; empty if it is all of it.
    """
    try:
        after, sites = rewrite(graph, goal)
        complete(after)
        return after, sites
    except Exception as error:
        site = Site.failed(name, "", WHOLE, error)
        return graph, [site.left(f"{part}: {site.reason}") if part else site]


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
