"""Rows: what is made row by row of what a kernel accumulates.

Sums are made as they were derived; whether that is right is asked of each row by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import Spec, axis_roles
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.tile.finished import Finished
from orchestrator_core.conductor.tile.recipe import VIEWS


@dataclass(frozen=True)
class Rows:
    """Attributes:
    source: the node of the kernel, in a graph. nodes: those after it that are done row by row, and
        what they need that is made of nothing, in order.
    specs: how the kernel's programs cut what it and these nodes make.
    """

    graph: Graph
    source: Node
    nodes: tuple[Node, ...]
    specs: Mapping[Value, Spec]

    @property
    def results(self) -> tuple[Value, ...]:
        """What others read."""
        does, returned = {self.source, *self.nodes}, set(self.graph.outputs)
        return tuple(
            value
            for node in (self.source, *self.nodes)
            for value in node.outputs
            if not is_free(node)
            and (value in returned or any(n not in does for n in self.graph.consumers[value]))
        )

    @property
    def nbytes(self) -> int:
        """Of the results; of those that have the same elements, once."""
        return sum(value.nbytes for value in set(map(self._origin, self.results)))

    def _origin(self, value: Value) -> Value:
        """What has the same elements in another shape, and was there first."""
        node = self.graph.producer[value]
        while node in self.nodes and node.name in VIEWS:
            (first, *_) = node.inputs
            if not isinstance(first, Value) or first.size != value.size:
                break
            value, node = first, self.graph.producer[first]
        return value

    @property
    def reads(self) -> tuple[Value, ...]:
        """What the kernel reads, and what is read where rows are in doubt."""
        does = (self.source, *self.nodes)
        made = {value for node in does for value in node.outputs}
        read = (each for node in does for each in node.inputs if isinstance(each, Value))
        return tuple(dict.fromkeys(each for each in read if each not in made))

    @property
    def checked(self) -> list[Node]:
        """Nodes whose rows may be in doubt."""
        return [node for node in self.nodes if is_checked(node)]

    def spec_of_usual(self, node: Node) -> Spec:
        """Of truth values about the rows of a node that is checked."""
        spec = self.specs[node.outputs[0]]
        return tuple(axis if axis_roles(axis) else () for axis in spec)

    def traced(self, values: Sequence[Value], checked: Sequence[Node] = ()) -> Graph:
        """Of what is accumulated: some values, and of some nodes whether rows are not in doubt."""

        def program(*arrays: Any) -> list[Any]:
            known: dict[Atom, Any] = dict(zip(self.source.outputs, arrays, strict=True))
            usual = dict[Node, Any]()
            for node in self.nodes:
                given = [e.value if isinstance(e, Literal) else known[e] for e in reads_of(node)]
                made = _derived(node, given)
                known.update(zip(node.outputs, made, strict=True))
                if node in checked:
                    usual[node] = self._usual(node, made[0], given)
            return [*(known[value] for value in values), *(usual[node] for node in checked)]

        return read(_jax.trace(program, [value.aval for value in self.source.outputs]))

    def _usual(self, node: Node, made: Any, given: Sequence[Any]) -> Any:
        does, spec = finished_of(node), self.specs[node.outputs[0]]
        assert does is not None
        return does.usual(made, given, [k for k, axis in enumerate(spec) if not axis_roles(axis)])


def reads_of(node: Node) -> Sequence[Atom]:
    """What a node reads where nothing is in doubt."""
    does = finished_of(node)
    return node.inputs if does is None else node.inputs[: does.reads]


def finished_of(node: Node) -> Finished | None:
    found = node.params.get("finished")
    return found if isinstance(found, Finished) else None


def is_checked(node: Node) -> bool:
    does = finished_of(node)
    return does is not None and does.alone is not None


def is_free(node: Node) -> bool:
    """Is it made of nothing?"""
    return not any(isinstance(each, Value) for each in node.inputs)


def _derived(node: Node, given: Sequence[Any]) -> Sequence[Any]:
    does = finished_of(node)
    return node.apply(given) if does is None else does.derived(given)
