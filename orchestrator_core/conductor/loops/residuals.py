"""What one scan keeps only for another to read is done again there, from what is cheapest to keep.

Layers in ``lax.scan`` under ``grad``: the forward scan stacks what the backward scan needs, in
attention the probabilities of all layers. Where that is dropped, the backward body has the forward
of its layer in it, and later rewrites see both in one body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.comparing import compared
from orchestrator_core.conductor.loops.cut import Cut, cheapest_cut
from orchestrator_core.conductor.loops.edges import Edge, edges
from orchestrator_core.conductor.loops.expanded import unmoved
from orchestrator_core.conductor.loops.prices import Prices
from orchestrator_core.conductor.loops.rebuilding import redoing, with_stacks


@dataclass(frozen=True)
class Residuals:
    """Attributes:
    node: a scan. edges: by stack of slices that it makes and that only other scans read, index for
        index, from it to its readers.
    """

    node: Node
    edges: dict[Value, list[Edge]]

    @property
    def scan(self) -> Scan:
        return Scan.of(self.node)

    @property
    def all_edges(self) -> list[Edge]:
        return [edge for those in self.edges.values() for edge in those]

    @property
    def nbytes(self) -> int:
        """Of all stacks."""
        return sum(stack.nbytes for stack in self.edges)


def residuals(graph: Graph, node: Node) -> Residuals:
    """What a scan of the graph keeps for other scans. What a reader compares for equality stays as
    it is."""
    found = edges(graph, Scan.of(node))
    exact = {
        edge.reader: compared(edge.reader.bodies[0]) for each in found.values() for edge in each
    }
    return Residuals(
        node,
        {
            stack: those
            for stack, those in found.items()
            if all(edge.read not in exact[edge.reader] for edge in those)
        },
    )


def given(scan: Scan) -> set[Value]:
    """What a reader can be given without anybody keeping it: constants and slices of inputs."""
    return {*scan.const_inputs, *scan.x_inputs, *scan.body.constants}


def plan(
    found: Residuals,
    never: frozenset[Value] = frozenset(),
    *,
    by_bytes: bool = False,
    only_never: bool = False,
) -> Cut | None:
    """What to keep and what to do again; None if it cannot be done.

    Args:
        never: what must not be kept. only_never: is all else that is kept now kept as it is?
        by_bytes: is it bytes that count, and not seconds?
    """
    scan = found.scan
    others = {
        made
        for stack, made in zip(scan.ys, scan.y_outputs, strict=True)
        if isinstance(made, Value) and (only_never or stack not in found.edges)
    }
    needed = {edge.made for edge in found.all_edges}
    still = unmoved(scan.body, scan.const_inputs) - needed - others  # no stack of what is the same
    never |= (compared(scan.body) | still) & scan.body.producer.keys()
    prices = Prices(given(scan) | others, never, by_bytes)
    return cheapest_cut(scan.body, needed, prices.keeping, prices.redoing)


def dropped(found: Residuals, cut: Cut) -> list[Value]:
    """The stacks that are not kept: those of slices that are done again, and second ones."""
    kept = set(cut.kept) - given(found.scan)
    gone = []
    for stack, those in found.edges.items():
        if those[0].made in kept:
            kept.remove(those[0].made)
        else:
            gone.append(stack)
    return gone


def without(graph: Graph, found: Residuals, cut: Cut) -> Graph:
    """The graph in which the cut is made."""
    gone = dropped(found, cut)
    scan = found.scan
    left = {m for s, m in zip(scan.ys, scan.y_outputs, strict=True) if s not in gone}
    new = [each for each in cut.kept if each not in left | given(scan)]
    maker = with_stacks(scan, gone, new)
    cut_edges = [edge for stack in gone for edge in found.edges[stack]]
    return graph.with_nodes(_replaced(graph.nodes, found.node, maker, cut_edges, cut))


def _replaced(
    nodes: Sequence[Node], old: Node, maker: Scan, cut_edges: Sequence[Edge], cut: Cut
) -> list[Node]:
    made = []
    for node in nodes:
        edges = [edge for edge in cut_edges if edge.reader is node]
        if node is old:
            node = maker.node()
        elif edges:
            own = cut.of(edge.made for edge in edges)
            node = redoing(Scan.of(node), edges, maker, own).node()
        made.append(node)
    return made
