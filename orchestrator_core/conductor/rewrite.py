"""What a rewrite is, how it is tried, and how it is carried into loops and branches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph, complete
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Site

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


class Remaining:
    """What is left of the seconds of a goal's budget, for whatever shares them."""

    def __init__(self, goal: Goal) -> None:
        self._goal, self._until = goal, monotonic() + goal.budget_s
        self._is_spent = False

    def goal(self) -> Goal | None:
        """The goal, with the seconds that are left as its budget; None if there are none, and
        something is left out for that."""
        left = self._until - monotonic()
        if left <= 0:
            self._is_spent = True
            return None
        return dataclasses.replace(self._goal, budget_s=left)

    def untried(self, name: str) -> list[Site]:
        """A site that says so, of a rewrite that has left something out; else none."""
        return [Site(name, "", WHOLE, AS_IT_IS, SPENT)] if self._is_spent else []


def in_bodies(name: str, rewrite: Rewrite, graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """A rewrite of the graph, and before it of all bodies of its loops and branches. All of them
    share the goal's budget: each is given what those before it have left.

    Args:
        name: of the rewrite, for a site that says for what no time was left.
    """
    left = Remaining(goal)

    def within(graph: Graph) -> tuple[Graph, list[Site]]:
        sites: list[Site] = []
        nodes = []
        for node in graph.nodes:
            done = [within(body) for body in node.bodies]
            sites += [site for _, found in done for site in found]
            if any(after is not body for (after, _), body in zip(done, node.bodies, strict=True)):
                node = with_bodies(node, [after for after, _ in done])
            nodes.append(node)
        if any(new is not old for new, old in zip(nodes, graph.nodes, strict=True)):
            graph = dataclasses.replace(graph, nodes=tuple(nodes))
        rest = left.goal()
        if rest is not None:
            graph, found = rewrite(graph, rest)
            sites += found
        return graph, sites

    graph, sites = within(graph)
    return graph, [*sites, *left.untried(name)]
