"""By primitive, what is read instead of its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.number_types import counts_to
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.kernels.held import is_narrow
from orchestrator_core.conductor.kernels.lighter.writer import Writer, is_single
from orchestrator_core.conductor.kernels.name import APPROXIMATE_TANH

TINY, LARGE = (float(each) for each in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))
"""Between these a number of 32 bits has all of its digits."""

SCALED = ("mul", "div", "convert_element_type", "neg", *("copy", "reshape", "broadcast_in_dim"))
"""What leaves a number as exact as it was, relative to itself."""

VIEWS = ("copy", "convert_element_type", "broadcast_in_dim", "reshape")

BOUNDED = ("dot_general", "tanh", APPROXIMATE_TANH)

ROUNDED = (*BOUNDED, "select_n", "max", "min")
"""What is never rounded together with what reads it."""


def _scalar(number: float) -> Literal:
    return Literal(np.float32(number), _jax.ShapedArray((), np.dtype(np.float32)))


def _divided(writer: Writer, node: Node) -> Atom | None:
    """By a number: times what is one by it."""
    by = node.inputs[1]
    if not isinstance(by, Literal) or np.ndim(by.value) or not node.output.shape:
        return None
    number = float(by.value)
    if number == 0 or not TINY <= 1 / abs(number) <= LARGE:
        return None
    return _times(writer, node.inputs[0], 1 / number)


def _multiplied(writer: Writer, node: Node) -> Atom | None:
    """By two numbers: by their product."""
    for atom, by in (node.inputs, node.inputs[::-1]):
        if isinstance(by, Literal) and np.ndim(by.value) == 0 and _factor(writer, atom) is not None:
            return _times(writer, atom, float(by.value))
    return None


def _times(writer: Writer, atom: Atom, by: float) -> Atom:
    """A product with a number, together with the one that the operand was multiplied by before."""
    before = _factor(writer, atom)
    if before is not None and TINY <= abs(before[1] * by) <= LARGE:
        return writer.write(lax.mul_p, before[0], _scalar(before[1] * by))
    return writer.write(lax.mul_p, atom, _scalar(by))


def _factor(writer: Writer, atom: Atom) -> tuple[Atom, float] | None:
    """What a value is, times a number."""
    node = writer.producer.get(atom)
    while node is not None and node.name == "convert_element_type" and is_single(node.output):
        node = writer.producer.get(node.inputs[0])
    if node is None or node.name != "mul" or not is_single(node.output):
        return None
    for other, by in (node.inputs, node.inputs[::-1]):
        if isinstance(by, Literal) and np.ndim(by.value) == 0 and isinstance(other, Value):
            return other, float(by.value)
    return None


def _selected(writer: Writer, node: Node) -> Atom | None:
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


def _is_tame(writer: Writer, atom: Atom) -> bool:
    """Is it no product, or one of a number and what is only large where all else is?"""
    node = _seen_through(writer, atom)
    if node is not None and node.name == "mul" and any(isinstance(i, Literal) for i in node.inputs):
        makers = [_seen_through(writer, i) for i in node.inputs if isinstance(i, Value)]
        return any(each is not None and each.name in BOUNDED for each in makers)
    return node is not None and node.name in ROUNDED


def _seen_through(writer: Writer, atom: Atom) -> Node | None:
    node = writer.producer.get(atom)
    while node is not None and node.name in VIEWS:
        node = writer.producer.get(node.inputs[0])
    return node


def _tanh(writer: Writer, node: Node) -> Atom | None:
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
    return writer.keep(Node(APPROXIMATE_TANH, node.inputs, (made,), node.apply))


def _largest(writer: Writer, node: Node) -> Atom | None:
    """Of numbers times one above zero: of the numbers, and then that once."""
    found = _factor(writer, node.inputs[0])
    if found is None or found[1] <= 0:
        return None
    given, by = found
    made = writer.write_as(lax.reduce_max_p, node.output.shape, given, **node.params)
    return _times(writer, made, by)


def _converted(writer: Writer, node: Node) -> Atom | None:
    """Of a difference of positions, such as the distance of a key: of each of them, where real
    numbers hold them and it exactly."""
    made = writer.producer.get(node.inputs[0])
    if made is None or made.name not in ("add", "sub") or len(made.inputs) != 2:
        return None
    most = [_most(writer, each) for each in made.inputs]
    if any(each is None or not counts_to(node.output.dtype, 2 * each) for each in most):
        return None
    shape = node.output.shape
    if all(each.size == node.output.size for each in made.inputs):
        return None
    parts = [_real(writer, each) for each in made.inputs]
    primitive = lax.add_p if made.name == "add" else lax.sub_p
    return writer.write_as(primitive, shape, *parts)


def _real(writer: Writer, atom: Atom) -> Atom:
    if isinstance(atom, Literal):
        return _scalar(float(np.asarray(atom.value)))
    params = {"new_dtype": np.dtype(np.float32), "weak_type": False, "sharding": None}
    return writer.write_as(lax.convert_element_type_p, atom.shape, atom, **params)


def _most(writer: Writer, atom: Atom) -> int | None:
    """How far from zero a whole number is at most, if that is known."""
    if isinstance(atom, Literal):
        is_one = np.ndim(atom.value) == 0 and np.issubdtype(atom.dtype, np.integer)
        return abs(int(atom.value)) if is_one else None
    node = writer.producer.get(atom)
    if node is None:
        return writer.positions.get(atom)
    if node.name == "iota":
        return int(node.output.shape[node.params["dimension"]])
    given = [_most(writer, each) for each in node.inputs]
    known = [each for each in given if each is not None]
    if len(known) < len(given) or node.name not in MOST:
        return None
    return MOST[node.name](*known)


def _both(writer: Writer, node: Node) -> Atom | None:
    """What is true beside: nothing."""
    if node.output.dtype != np.bool_:
        return None
    for other, known in (node.inputs, node.inputs[::-1]):
        is_true = isinstance(known, Literal) and np.ndim(known.value) == 0 and bool(known.value)
        if is_true and other.shape == node.output.shape:
            return other
    return None


MOST: Mapping[str, Callable[..., int]] = {
    **dict.fromkeys(VIEWS, lambda a: a),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
}


RULES: Mapping[str, Callable[[Writer, Node], Atom | None]] = {
    "div": _divided,
    "mul": _multiplied,
    "select_n": _selected,
    "tanh": _tanh,
    "reduce_max": _largest,
    "convert_element_type": _converted,
    "and": _both,
}
"""None where it stays."""
