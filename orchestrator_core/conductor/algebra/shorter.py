"""One walk over a graph that takes whatever makes it shorter without moving a bit."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from orchestrator_core.conductor.algebra.branches import known_branch
from orchestrator_core.conductor.algebra.equal import Seen
from orchestrator_core.conductor.algebra.simpler import simpler
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.known import folded
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.substitute import cloned, reading, replaced
from orchestrator_core.conductor.ir.value import Atom, Value

FOUND_BY_XLA = frozenset({"repeated", "constant", "constant choice", "without effect"})
"""Of what is found here, what XLA finds by itself (decision 0074)."""


def shorter(graph: Graph) -> tuple[Graph, Counter[str]]:
    """The graph, the same object if nothing was found; and how often what was found."""
    walk = _Walk()
    for node in graph.nodes:
        walk.take(node)
    if not walk.found:
        return graph, walk.found
    outputs = tuple(replaced(each, walk.known) for each in graph.outputs)
    constants = {**graph.constants, **walk.constants}
    new = dataclasses.replace(graph, nodes=tuple(walk.nodes), outputs=outputs, constants=constants)
    return pruned(new), walk.found


class _Walk:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[Value, Atom] = {}
        self.constants: dict[Value, Any] = {}
        self.found: Counter[str] = Counter()
        self._producer: dict[Value, Node] = {}
        self._seen = Seen()

    def take(self, node: Node) -> None:
        node = reading(node, self.known)
        branch = known_branch(node, self._producer)
        if branch is not None:
            self._open(node, branch)
            return
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
            self.found["repeated"] += 1
            return
        self.nodes.append(node)
        self._producer.update((value, node) for value in node.outputs)

    def _open(self, node: Node, branch: Graph) -> None:
        """Takes the nodes of a branch in the place of the choice."""
        inside: dict[Value, Atom] = dict(zip(branch.inputs, node.inputs[1:], strict=True))
        for value, array in branch.constants.items():
            inside[value] = constant = Value(value.aval)
            self.constants[constant] = array
        for each in cloned(branch.nodes, inside):
            self.take(each)
        made = [replaced(replaced(each, inside), self.known) for each in branch.outputs]
        self.known.update(zip(node.outputs, made, strict=True))
        self.found["constant choice"] += 1

    def _simpler(self, node: Node) -> Atom | Node | None:
        """An atom or a node that stands for this one, of the very same type."""
        literal = folded(node)
        if literal is not None:
            self.found["constant"] += 1
            return literal
        made = simpler(node, self._producer)
        if made is None or isinstance(made, Node):
            return made
        if made.aval != node.output.aval:
            return None
        self.found["without effect"] += 1
        return made
