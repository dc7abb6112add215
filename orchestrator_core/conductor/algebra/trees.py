"""Running sums and the like as trees of slices, where they are faster."""

from __future__ import annotations

from orchestrator_core.conductor.algebra.judged import site
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.cumulative.trees import WORTH, Tree, with_trees


def as_trees(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with such trees."""
    sites: list[Site] = []
    if goal.objective == "memory":  # trees keep half an array more
        return graph, sites

    def is_wanted(node: Node, tree: Tree) -> bool:
        found, both = f"{node.name} of {node.output.size} elements", (tree.was, tree.now)
        sites.append(site(node, found, "a tree of slices", both, goal, WORTH))
        return sites[-1].is_changed

    made = with_trees(graph, is_wanted)
    return made, list(dict.fromkeys(sites))
