"""Nodes of a graph written once more, and what values have become."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.exact import EXACT
from orchestrator_core.conductor.ir.known import folded
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.kernels.held import is_narrow

KNOWN = EXACT | {"sqrt", "rsqrt", "broadcast_in_dim", "reshape", "copy"}
"""What is computed before the program runs, if it is of numbers that are written there."""


class Writer:
    """Attributes:
    positions: inputs that are whole numbers from zero up to less than this.
    producer: the node that makes a value now.
    """

    def __init__(self, positions: Mapping[Atom, int]) -> None:
        self.positions = positions
        self.nodes: list[Node] = []
        self.producer: dict[Atom, Node] = {}
        self._instead: dict[Atom, Atom] = {}
        self._seen: dict[Hashable, Node] = {}

    def now(self, atom: Atom) -> Atom:
        """What a value of the old graph is."""
        return self._instead.get(atom, atom)

    def add(self, node: Node, rule: Callable[[Writer, Node], Atom | None] | None) -> None:
        """Writes a node, or what is read instead of its result."""
        node = dataclasses.replace(node, inputs=tuple(map(self.now, node.inputs)))
        made: Atom | None = folded(node, KNOWN)
        if made is None and rule is not None and _is_held(node.output):
            made = rule(self, node)
        made = self.keep(node) if made is None else made
        if made is not None and len(node.outputs) == 1:
            self._instead[node.output] = made

    def keep(self, node: Node) -> Atom | None:
        """Writes a node unless there is one that does the same: its only result."""
        key = _key(node)
        if key is not None and key in self._seen:
            return self._seen[key].output
        if key is not None:
            self._seen[key] = node
        self.nodes.append(node)
        self.producer.update(dict.fromkeys(node.outputs, node))
        return node.output if len(node.outputs) == 1 else None

    def write(self, primitive: Any, *inputs: Atom, **params: Any) -> Atom:
        """A new operation, element by element; scalars may stand beside arrays."""
        shape = max((each.shape for each in inputs), key=len)
        return self.write_as(primitive, shape, *inputs, **params)

    def write_as(
        self, primitive: Any, shape: tuple[int, ...], *inputs: Atom, **params: Any
    ) -> Atom:
        """A new operation that makes numbers of 32 bits of a shape."""
        aval = _jax.ShapedArray(shape, np.dtype(np.float32))
        made = self.keep(of_primitive(primitive, inputs, (Value(aval),), params))
        assert made is not None
        return made

    def maker(self, atom: Atom, name: str) -> Node | None:
        """The node that makes a value, if it is of this kind."""
        node = self.producer.get(atom)
        return node if node is not None and node.name == name else None


def is_single(atom: Atom) -> bool:
    """Is it held as numbers of 32 bits?"""
    return bool(atom.dtype == np.float32) or is_narrow(atom.dtype)


def _is_held(value: Value) -> bool:
    """As numbers of 32 bits, or as truth values?"""
    return is_single(value) or bool(value.dtype == np.bool_)


def _key(node: Node) -> Hashable | None:
    """What a node does to what; None if that is not known."""
    if node.effects or node.primitive is None or node.bodies or len(node.outputs) != 1:
        return None
    return (
        node.name,
        node.output.dtype,
        node.output.shape,
        tuple(sorted((name, str(each)) for name, each in node.params.items())),
        tuple(map(_name, node.inputs)),
    )


def _name(atom: Atom) -> Hashable:
    if isinstance(atom, Value):
        return atom
    array = np.asarray(atom.value)
    return (array.dtype.str, array.shape, array.tobytes())
