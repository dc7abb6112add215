"""One walk over a graph that takes whatever makes it shorter without moving a bit."""

from __future__ import annotations

import dataclasses
from collections import Counter

from orchestrator_core.conductor.algebra.equal import Seen
from orchestrator_core.conductor.algebra.known import folded
from orchestrator_core.conductor.algebra.simpler import simpler
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.substitute import reading, replaced
from orchestrator_core.conductor.ir.value import Atom, Value


def shorter(graph: Graph) -> tuple[Graph, Counter[str]]:
    """The graph, the same object if nothing was found; and how often what was found."""
    walk = _Walk()
    for node in graph.nodes:
        walk.take(node)
    if not walk.found:
        return graph, walk.found
    outputs = tuple(replaced(each, walk.known) for each in graph.outputs)
    new = dataclasses.replace(graph, nodes=tuple(walk.nodes), outputs=outputs)
    return pruned(new), walk.found


class _Walk:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[Value, Atom] = {}
        self.found: Counter[str] = Counter()
        self._producer: dict[Value, Node] = {}
        self._seen = Seen()

    def take(self, node: Node) -> None:
        node = reading(node, self.known)
        instead = self._simpler(node)
        while isinstance(instead, Node):
            self.found["two in one"] += 1
            node, instead = instead, self._simpler(instead)
        if instead is not None:
            self.known[node.output] = instead
            return
        twin = self._seen.twin(node)
        if twin is not None:
            self.known.update(zip(node.outputs, twin.outputs, strict=True))
            self.found["computed once"] += 1
            return
        self.nodes.append(node)
        self._producer.update((value, node) for value in node.outputs)

    def _simpler(self, node: Node) -> Atom | Node | None:
        """An atom or a node that stands for this one, of the very same type."""
        literal = folded(node)
        if literal is not None:
            self.found["known"] += 1
            return literal
        made = simpler(node, self._producer)
        if made is None or isinstance(made, Node):
            return made
        if made.aval != node.output.aval:
            return None
        self.found["nothing done"] += 1
        return made
