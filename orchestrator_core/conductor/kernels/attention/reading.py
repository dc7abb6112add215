"""Values of a graph, followed backward with the roles of their axes.

Axes that merely have the same length are never taken for each other: each axis of a value has the
role of the axis that it came from.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.conductor.facts.axes import Part, Spec, Untileable
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.tile.hoist import is_cast

VIEWS = ("broadcast_in_dim", "transpose", *RESHAPES)

ROOTS = ("rsqrt", "sqrt")

SAME = ("copy", "stop_gradient", "name", "optimization_barrier")
"""Operations that return what they are given."""


class Other(Exception):
    """It is something else."""


class Reading:
    """Where values of a graph come from."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def origin(self, key: Key) -> Key:
        """What a value is a view of, or has been rounded from."""
        while (node := self.graph.producer.get(key[0])) is not None:
            if len(node.outputs) > 1 or not (node.name in VIEWS or _is_cast(node) or _drops(node)):
                break
            first = node.inputs[0]
            if isinstance(first, Literal):
                break
            try:
                key = (first, rule_of(node).back(node, key[1])[0])
            except Untileable:  # an axis with a role is cut
                break
        return key

    def node(self, key: Key, name: str) -> Node:
        """What makes a value.

        Raises:
            Other: if it has another name.
        """
        node = self.graph.producer.get(key[0])
        if node is None or node.name != name:
            raise Other
        return node

    def operands(self, node: Node, spec: Spec) -> list[tuple[Atom, Spec]]:
        """What a node reads for a result that is cut so."""
        return list(zip(node.inputs, rule_of(node).back(node, spec), strict=True))

    def values(self, node: Node, spec: Spec) -> list[Key]:
        """The same without what is written in the program."""
        pairs = self.operands(node, spec)
        return [(atom, cut) for atom, cut in pairs if isinstance(atom, Value)]

    def number(self, atom: Atom) -> float | None:
        """What a value is everywhere, if that is written in the program."""
        roots: list[str] = []
        while isinstance(atom, Value):
            node = self.graph.producer.get(atom)
            if node is None or not (node.name in (*VIEWS, *ROOTS) or _is_cast(node)):
                return None
            if len(node.inputs) != 1 or len(node.outputs) != 1:
                return None
            roots += [node.name] if node.name in ROOTS else []
            (atom,) = node.inputs
        if np.ndim(atom.value):
            return None
        found = float(atom.value)
        for name in reversed(roots):
            found = float(np.sqrt(found) if name == "sqrt" else 1 / np.sqrt(found))
        return found


def parts_of(spec: Spec) -> list[Part]:
    """All parts of all axes, slowest first."""
    return [part for axis in spec for part in axis]


def _is_cast(node: Node) -> bool:
    return node.name in SAME or is_cast(node)


def _drops(node: Node) -> bool:
    """Is it a sum along axes of one element?"""
    return node.name == "reduce_sum" and all(
        node.inputs[0].shape[axis] == 1 for axis in node.params["axes"]
    )
