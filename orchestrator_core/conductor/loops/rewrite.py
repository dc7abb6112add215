"""The rewrite "loops": residuals of scans done again, and what scans are given made inside."""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.loops.choosing import NAME, scans, with_less_kept, with_more_inside
from orchestrator_core.conductor.loops.pairs import with_pairs_inside
from orchestrator_core.conductor.rewrite import Remaining
from orchestrator_core.conductor.site import Site


def loops(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with less between its scans, and then the same in all bodies of its loops: what is
    done again there may have scans in it whose residuals are of no use any more."""
    remaining = Remaining(goal)
    sites: list[Site] = []
    for choose in (with_more_inside, with_less_kept):
        # Counted from the last one, as one that keeps nothing any more may be gone after its turn.
        for which in range(-len(scans(graph)), 0):
            rest = remaining.goal()
            if rest is not None:
                graph, found = choose(graph, which, rest)
                sites += found
    for then in (with_pairs_inside, _in_bodies):
        rest = remaining.goal()
        if rest is not None:
            graph, found = then(graph, rest)
            sites += found
    return graph, [*sites, *remaining.untried(NAME)]


def _in_bodies(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    remaining = Remaining(goal)
    sites: list[Site] = []
    nodes = []
    for node in graph.nodes:
        done = [_in_body(body, remaining) for body in node.bodies]
        sites += [site for _, found in done for site in found]
        if any(after is not body for (after, _), body in zip(done, node.bodies, strict=True)):
            node = with_bodies(node, [after for after, _ in done])
        nodes.append(node)
    if all(new is old for new, old in zip(nodes, graph.nodes, strict=True)):
        return graph, sites
    return dataclasses.replace(graph, nodes=tuple(nodes)), sites


def _in_body(body: Graph, remaining: Remaining) -> tuple[Graph, list[Site]]:
    rest = remaining.goal()
    return (body, remaining.untried(NAME)) if rest is None else loops(body, rest)
