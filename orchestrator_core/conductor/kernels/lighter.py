"""The same numbers, but for their last digits, with fewer instructions of a GPU.

What XLA makes cheaper by itself, a kernel does as it is written: for every pair of a query and a
key a division takes as long as ten multiplications, and a hyperbolic tangent as twenty. Rewritten
is only what is pairwise; all else is done once in a row.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.exact import EXACT
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.kernels.held import is_narrow
from orchestrator_core.conductor.kernels.name import APPROXIMATE_TANH

LOG2_E = math.log2(math.e)

TINY, LARGE = (float(each) for each in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))
"""Between these a number of 32 bits has all of its digits."""

SCALED = ("mul", "div", "convert_element_type", "neg", *("copy", "reshape", "broadcast_in_dim"))
"""What leaves a number as exact as it was, relative to itself."""

VIEWS = ("copy", "convert_element_type", "broadcast_in_dim", "reshape")

BOUNDED = ("dot_general", "tanh", APPROXIMATE_TANH)

ROUNDED = (*BOUNDED, "select_n", "max", "min")
"""What is never rounded together with what reads it."""

KNOWN = EXACT | {"sqrt", "rsqrt", "broadcast_in_dim", "reshape", "copy"}


def lighter(graph: Graph) -> Graph:
    """What a kernel does with a tile, made lighter."""
    writer = _Writer(graph)
    for node in graph.nodes:
        writer.add(node)
    outputs = tuple(map(writer.now, graph.outputs))
    return dataclasses.replace(graph, nodes=(), outputs=outputs).with_nodes(writer.nodes)


class _Writer:
    """Nodes written once more, and what values have become."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.producer: dict[Atom, Node] = {}
        self._instead: dict[Atom, Atom] = {}

    def now(self, atom: Atom) -> Atom:
        return self._instead.get(atom, atom)

    def add(self, node: Node) -> None:
        node = dataclasses.replace(node, inputs=tuple(map(self.now, node.inputs)))
        known = _number(node)
        made = known if known is not None else self._rewritten(node)
        if made is None:
            self._keep(node)
        else:
            self._instead[node.output] = made

    def _rewritten(self, node: Node) -> Atom | None:
        rule = RULES.get(node.name)
        if rule is None or len(node.outputs) != 1 or not _is_single(node.output):
            return None
        made: Atom | None = rule(self, node)
        return made

    def _keep(self, node: Node) -> None:
        self.nodes.append(node)
        self.producer.update(dict.fromkeys(node.outputs, node))

    def write(self, primitive: Any, *inputs: Atom, **params: Any) -> Value:
        """A new operation, element by element; scalars may stand beside arrays."""
        shape = max((each.shape for each in inputs), key=len)
        aval = _jax.ShapedArray(shape, np.dtype(np.float32))
        node = of_primitive(primitive, inputs, (Value(aval),), params)
        self._keep(node)
        return node.output

    def maker(self, atom: Atom, name: str) -> Node | None:
        """The node that makes a value, if it is of this kind."""
        node = self.producer.get(atom)
        return node if node is not None and node.name == name else None


def _is_single(value: Value) -> bool:
    """Is it held as numbers of 32 bits?"""
    return bool(value.dtype == np.float32) or is_narrow(value.dtype)


def _number(node: Node) -> Literal | None:
    """What is known before the program runs, such as the root of a dimension."""
    if node.name not in KNOWN or len(node.outputs) != 1 or node.output.shape:
        return None
    values = [each.value for each in node.inputs if isinstance(each, Literal)]
    if len(values) != len(node.inputs):
        return None
    with _jax.no_trace():
        (made,) = node.apply(values)
    return Literal(np.asarray(made)[()], node.output.aval)


def _scalar(number: float) -> Literal:
    return Literal(np.float32(number), _jax.ShapedArray((), np.dtype(np.float32)))


def _divided(writer: _Writer, node: Node) -> Atom | None:
    """By a number: times what is one by it."""
    by = node.inputs[1]
    if not isinstance(by, Literal) or np.ndim(by.value) or not node.output.shape:
        return None
    inverse = np.float32(1) / np.float32(by.value)
    if not TINY <= abs(inverse) <= LARGE:
        return None
    return _times(writer, node.inputs[0], float(inverse))


def _multiplied(writer: _Writer, node: Node) -> Atom | None:
    """By two numbers: by their product."""
    for atom, by in (node.inputs, node.inputs[::-1]):
        is_number = isinstance(by, Literal) and np.ndim(by.value) == 0
        if is_number and isinstance(atom, Value) and _factor(writer, atom) is not None:
            return _times(writer, atom, float(by.value))
    return None


def _times(writer: _Writer, atom: Atom, by: float) -> Value:
    """A product with a number, together with the one that the operand was multiplied by before."""
    before = _factor(writer, atom)
    if before is not None and TINY <= abs(before[1] * by) <= LARGE:
        return writer.write(lax.mul_p, before[0], _scalar(before[1] * by))
    return writer.write(lax.mul_p, atom, _scalar(by))


def _factor(writer: _Writer, atom: Atom) -> tuple[Atom, float] | None:
    """What a value is, times a number."""
    node = writer.producer.get(atom)
    while node is not None and node.name == "convert_element_type" and _is_single(node.output):
        node = writer.producer.get(node.inputs[0])
    if node is None or node.name != "mul" or not _is_single(node.output):
        return None
    for other, by in (node.inputs, node.inputs[::-1]):
        if isinstance(by, Literal) and np.ndim(by.value) == 0 and isinstance(other, Value):
            return other, float(by.value)
    return None


def _selected(writer: _Writer, node: Node) -> Atom | None:
    """``where(x == y, y - y, x - y)`` of `tile.recipe.below_zero`, which minds what a compiler
    rounds together: not needed where that is nothing, or a number of usual size."""
    if len(node.inputs) != 3:
        return None
    equal, other = writer.maker(node.inputs[0], "eq"), writer.maker(node.inputs[1], "sub")
    same = _seen_through(writer, node.inputs[2])
    if equal is None or other is None or same is None or same.name != "sub":
        return None
    is_it = equal.inputs == other.inputs and set(same.inputs) == {other.inputs[1]}
    return other.output if is_it and _is_tame(writer, other.inputs[0]) else None


def _is_tame(writer: _Writer, atom: Atom) -> bool:
    """Is it no product, or one of a number and what is only large where all else is?"""
    node = _seen_through(writer, atom)
    if node is not None and node.name == "mul" and any(isinstance(i, Literal) for i in node.inputs):
        node = next((_seen_through(writer, i) for i in node.inputs if isinstance(i, Value)), None)
        return node is not None and node.name in BOUNDED
    return node is not None and node.name in ROUNDED


def _seen_through(writer: _Writer, atom: Atom) -> Node | None:
    node = writer.producer.get(atom)
    while node is not None and node.name in VIEWS:
        node = writer.producer.get(node.inputs[0])
    return node


def _exponential(writer: _Writer, node: Node) -> Atom | None:
    """Of a difference from what is the same along a row: one multiplication that adds."""
    difference = writer.maker(node.inputs[0], "sub")
    if difference is None:
        return None
    first, second = difference.inputs
    if isinstance(second, Literal) or second.size >= first.size:
        return None
    parts = [_times(writer, each, LOG2_E) for each in (first, second)]
    difference = writer.write(lax.sub_p, *parts)
    return writer.write(lax.exp2_p, difference, accuracy=None)


def _tanh(writer: _Writer, node: Node) -> Atom | None:
    """Of numbers that were rounded to 16 bits: as exact as they are, by one instruction."""
    given = node.inputs[0]
    while (maker := writer.producer.get(given)) is not None and not is_narrow(given.dtype):
        if maker.name not in SCALED:
            return None
        arrays = [each for each in maker.inputs if each.shape == given.shape]
        if len(arrays) != 1:
            return None
        given = arrays[0]
    if not is_narrow(given.dtype):
        return None
    made = Value(_jax.ShapedArray(node.output.shape, np.dtype(np.float32)))
    writer._keep(Node(APPROXIMATE_TANH, node.inputs, (made,), node.apply))
    return made


RULES: Mapping[str, Callable[[_Writer, Node], Atom | None]] = {
    "div": _divided,
    "mul": _multiplied,
    "select_n": _selected,
    "exp": _exponential,
    "tanh": _tanh,
}
"""By primitive: what is read instead of its result; None if it stays."""
