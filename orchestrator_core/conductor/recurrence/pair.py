"""Pairs of loops: one keeps values for each step, which the other reads in the opposite order.

So does the traced derivative of any loop: what the backward loop needs of the forward one is
returned by it, stacked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.needed import needed
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan


@dataclass(frozen=True, eq=False)
class Pair:
    """Attributes:
    first, second: the nodes of the loops. kept: which of the first's results only the second
        reads, a slice in each step.
    """

    first: Node
    second: Node
    kept: tuple[int, ...]

    def within(self, graph: Graph) -> Pair:
        """The same loops in a graph in which what they read may have been replaced."""
        first, second = (graph.producer[node.outputs[0]] for node in (self.first, self.second))
        return Pair(first, second, self.kept)

    @cached_property
    def forward(self) -> Scan:
        return Scan.of(self.first)

    @cached_property
    def backward(self) -> Scan:
        return Scan.of(self.second)

    @property
    def kept_bytes(self) -> int:
        """Of one step."""
        return sum(self.forward.y_outputs[k].nbytes for k in self.kept)

    @property
    def carry_bytes(self) -> int:
        return sum(each.nbytes for each in self.forward.carry_inputs)

    @property
    def again(self) -> list[Node]:
        """What is to be done a second time if nothing is kept."""
        body = self.forward.body
        ends = [*self.forward.carry_outputs, *(self.forward.y_outputs[k] for k in self.kept)]
        wanted = needed(body, ends)
        return [node for node in body.nodes if not wanted.isdisjoint(node.outputs)]


def pairs(graph: Graph) -> Iterator[Pair]:
    """All that there are in a graph; no loop is in two of them."""
    taken: set[Node] = set()
    for node in graph.nodes:
        if node.name == "scan" and not node.effects and node not in taken:
            pair = _pair(graph, node)
            if pair is not None and pair.second not in taken:
                taken |= {pair.first, pair.second}
                yield pair


def _pair(graph: Graph, first: Node) -> Pair | None:
    scan = Scan.of(first)
    for second in dict.fromkeys(node for y in scan.ys for node in graph.consumers.get(y, ())):
        if second.name != "scan" or second.effects:
            continue
        other = Scan.of(second)
        if other.length != scan.length or other.reverse == scan.reverse:
            continue
        kept = tuple(k for k in range(len(scan.ys)) if _is_only_for(graph, scan, k, second))
        if kept:
            return Pair(first, second, kept)
    return None


def _is_only_for(graph: Graph, scan: Scan, k: int, second: Node) -> bool:
    y = scan.ys[k]
    whole = Scan.of(second)
    return (
        list(graph.consumers.get(y, ())) == [second]
        and y not in graph.outputs
        and y not in whole.consts
        and y not in whole.carry
    )
