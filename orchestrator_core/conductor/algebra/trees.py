"""Running sums and the like as trees of slices, where they are faster."""

from __future__ import annotations

from orchestrator_core.conductor.algebra.judged import site
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.written import in_place_of
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.cumulative.trees import RUNNING, WORTH, Tree


def as_trees(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with such trees."""
    sites: list[Site] = []
    if goal.objective == "memory":  # trees keep half an array more
        return graph, sites
    for output in [node.outputs[0] for node in graph.nodes if node.name in RUNNING]:
        # What was rewritten before has changed what it reads.
        node = graph.producer[output]
        tree = Tree.of(node)
        if tree is None:
            continue
        found, both = f"{node.name} of {output.size} elements", (tree.was, tree.now)
        decided = site(node, found, "a tree of slices", both, goal, WORTH)
        sites.append(decided)
        if decided.is_changed:
            graph = in_place_of(graph, [node], tree.graph, [output])
    return graph, list(dict.fromkeys(sites))
