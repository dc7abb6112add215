"""The ways in which a scan may keep less for other scans."""

from __future__ import annotations

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.expanded import expanded, unmoved
from orchestrator_core.conductor.loops.residuals import Residuals, dropped, plan, without

CHEAPER = "what is cheaper to make again than to keep"
TILES = "what is made tile by tile"
BOTH = f"{CHEAPER}, and {TILES}"
LEAST = "as little as can be kept"

WAYS = (CHEAPER, TILES, BOTH, LEAST)
"""Names of the ways: what is done again, or how little is kept."""


def taken(way: str, graph: Graph, found: Residuals, large: int) -> Graph | None:
    """The graph if this way is taken; None if it would change nothing.

    Args:
        large: elements from which on values of all pairs are made tile by tile.
    """
    never: frozenset[Value] = frozenset()
    if way in (TILES, BOTH):
        never = _pairs(found, large)
        if never.isdisjoint(edge.made for edge in found.all_edges):
            return None
    cut = plan(found, never, by_bytes=way == LEAST, only_never=way == TILES)
    return without(graph, found, cut) if cut is not None and dropped(found, cut) else None


def _pairs(found: Residuals, large: int) -> frozenset[Value]:
    """What is much larger than what it is made of."""
    scan = found.scan
    free = unmoved(scan.body, scan.const_inputs).union(scan.x_inputs)
    return expanded(scan.body, scan.body.nodes, free, large)
