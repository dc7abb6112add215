"""Matrix products of all pairs, made in the steps of the scans that read them, tile by tile.

``lax.scan`` is given the costs of an optimal transport, or the scores that a threshold is searched
for, as a whole. Within a step they are one more pairwise value. This gains only in tiles, and only
if all scans do so: otherwise the product is kept for the others anyway.
"""

from __future__ import annotations

from orchestrator_core.conductor.cost import price
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.loops.choosing import GAIN, NAME, WORTH, in_tiles, large
from orchestrator_core.conductor.loops.comparing import compared
from orchestrator_core.conductor.loops.sinking import sunk
from orchestrator_core.conductor.site import AS_IT_IS, Site
from orchestrator_core.conductor.tile.rewrite import tile

FOUND = "products of all pairs that scans read in all steps"


def with_pairs_inside(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph whose scans make themselves the products of pairs that they were given."""
    if not goal.permits("tiling"):
        return graph, []
    made = {node: _sunk(graph, node, goal) for node in graph.nodes if node.name == "scan"}
    changed = [node for node, new in made.items() if new is not node]
    if not changed:
        return graph, []
    after = graph.with_nodes(made.get(node, node) for node in graph.nodes)
    source, prices = changed[0].source, (price(graph), price(after))
    pinned = goal.decided(NAME, source, FOUND)
    if not (_gains(graph, after, goal) if pinned is None else pinned.is_changed):
        why = "in tiles, too, cheaper to read than to make again"
        return graph, [Site(NAME, source, FOUND, AS_IT_IS, why, prices[0])]
    return after, [Site(NAME, source, FOUND, "made in each step", "in tiles it gains", *prices)]


def _sunk(graph: Graph, node: Node, goal: Goal) -> Node:
    """Numbers that a step compares for equality with what was made outside stay as they are."""
    if compared(node.bodies[0]):
        return node
    new = sunk(graph, node, WORTH, large(goal), with_products=True)
    return node if new is None else new.node()


def _gains(graph: Graph, after: Graph, goal: Goal) -> bool:
    if goal.always:
        return True
    if goal.objective == "memory":
        was, now = (price(tile(each, goal)[0]).temp_bytes for each in (graph, after))
        return now < GAIN * was
    return in_tiles(after, goal) < GAIN * in_tiles(graph, goal)
