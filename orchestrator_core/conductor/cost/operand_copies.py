"""Copies that matrix products need: libraries take operands as batch, rows, columns or as batch,
columns, rows, so XLA copies those in which these groups of axes are mixed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value


def with_copies(node: Node, transposition: Callable[[Atom], Node | None]) -> list[Node]:
    """The node, after those that copy its operands, if it needs such; of a split its slices.

    Args:
        transposition: the node that makes a value by transposing another; a product takes the other
            if it can.
    """
    if node.name == "split":
        return [_part(node, position) for position in range(len(node.outputs))]
    if node.name == "conv_general_dilated":
        return _with_channels_last(node)
    if node.name in SPREADING:
        return _with_full_operands(node)
    if node.name != "dot_general":
        return [node]
    taken = [
        _taken(side, operand, inner, outer, transposition)
        for side, operand, inner, outer in zip(
            (0, 1), node.inputs, *node.params["dimension_numbers"], strict=True
        )
    ]
    numbers = tuple(tuple(tuple(each.axes[k]) for each in taken) for k in (0, 1))
    params = {**node.params, "dimension_numbers": numbers}
    inputs = tuple(each.operand for each in taken)
    copies = [each.copy for each in taken if each.copy is not None]
    return [*copies, dataclasses.replace(node, inputs=inputs, params=params)]


SPREADING = ("add", "add_any", "div", "max", "min", "mul", "sub")


def _with_full_operands(node: Node) -> list[Node]:
    """After broadcasts of operands with axes of length one, which XLA does not know: two nodes may
    share a broadcast, and a library may need it in memory."""
    made: list[Node] = []
    inputs: list[Atom] = []
    for operand in node.inputs:
        if isinstance(operand, Value) and operand.shape not in ((), node.output.shape):
            made.append(_spread(operand, node))
            operand = made[-1].output
        inputs.append(operand)
    return [*made, dataclasses.replace(node, inputs=tuple(inputs))] if made else [node]


def _spread(operand: Value, node: Node) -> Node:
    """A broadcast to the shape of what a node makes."""
    shape = node.output.shape
    made = Value(_jax.ShapedArray(shape, operand.dtype))

    def apply(arrays: Sequence[Any]) -> list[Any]:
        return [jax.numpy.broadcast_to(arrays[0], shape)]

    params = {"shape": shape}
    name = "broadcast_in_dim"
    return Node(name, (operand,), (made,), apply, params, primitive=node.primitive)


def _with_channels_last(node: Node) -> list[Node]:
    """A convolution that takes and makes batch, space, features; of kernels space, in, out."""
    numbers = node.params["dimension_numbers"]
    rank = len(numbers.lhs_spec)
    space = tuple(range(1, rank - 1))
    orders = [
        (numbers.lhs_spec[0], *numbers.lhs_spec[2:], numbers.lhs_spec[1]),
        (*numbers.rhs_spec[2:], numbers.rhs_spec[1], numbers.rhs_spec[0]),
        (numbers.out_spec[0], *numbers.out_spec[2:], numbers.out_spec[1]),
    ]
    copies = [
        None if _is_own(order) else _transpose(operand, order)
        for operand, order in zip(node.inputs, orders, strict=False)
    ]
    inputs = tuple(
        operand if copy is None else copy.output
        for operand, copy in zip(node.inputs, copies, strict=True)
    )
    data, kernel = (0, rank - 1, *space), (rank - 1, rank - 2, *(k - 1 for k in space))
    last = jax.lax.ConvDimensionNumbers(data, kernel, data)
    made, back = [each for each in copies if each is not None], []
    outputs = node.outputs
    if not _is_own(orders[2]):
        shape = tuple(node.output.shape[axis] for axis in orders[2])
        outputs = (Value(_jax.ShapedArray(shape, node.output.dtype)),)
        inverse = tuple(orders[2].index(axis) for axis in range(rank))
        back = [_transpose(outputs[0], inverse, node.output)]
    params = {**node.params, "dimension_numbers": last}
    return [*made, dataclasses.replace(node, inputs=inputs, outputs=outputs, params=params), *back]


def _part(node: Node, position: int) -> Node:
    """One output of a split."""
    params = {"part": position, **node.params}
    outputs = (node.outputs[position],)
    return dataclasses.replace(node, name="slice", outputs=outputs, params=params)


def swapped(node: Node) -> tuple[int, ...] | None:
    """The permutation of a product's axes by which its factors change places; None if XLA does not
    do that: it does with one free axis on each side."""
    (inner, _), (outer, _) = node.params["dimension_numbers"]
    if any(node.inputs[0].shape[axis] == 1 for axis in outer):
        return None
    many, rank = len(outer), len(node.output.shape)
    rows = len(node.inputs[0].shape) - len(inner)
    if (rows, rank) != (many + 1, many + 2):
        return None
    return (*range(many), *range(rows, rank), *range(many, rows))


def makes_flat(node: Node) -> bool:
    """Is it a product whose axes XLA merges, or of which it drops some of length one?"""
    if node.name != "dot_general":
        return False
    return [_free(node, side) for side in (0, 1)] != [1, 1] or _is_merged(node)


def reads_flat(node: Node, value: Atom) -> bool:
    """Is it a product that reads a value so?"""
    if node.name != "dot_general":
        return False
    sides = [side for side in (0, 1) if node.inputs[side] is value]
    return _is_merged(node) or any(_free(node, side) != 1 for side in sides)


def _free(node: Node, side: int) -> int:
    """Axes of an operand that the product has too, and the other does not."""
    inner, outer = node.params["dimension_numbers"]
    return len(node.inputs[side].shape) - len(inner[side]) - len(outer[side])


def _is_merged(node: Node) -> bool:
    (inner, _), (outer, _) = node.params["dimension_numbers"]
    return len(inner) != 1 or any(node.inputs[0].shape[k] == 1 for k in outer)


@dataclass(frozen=True)
class _Taken:
    """An operand as it is taken: contracted and batch axes, and the copy that makes it."""

    operand: Atom
    axes: tuple[Sequence[int], Sequence[int]]
    copy: Node | None = None


def _taken(
    side: int,
    operand: Atom,
    inner: Sequence[int],
    outer: Sequence[int],
    transposition: Callable[[Atom], Node | None],
) -> _Taken:
    before = transposition(operand)
    if before is not None:
        order = before.params["permutation"]
        inner_before, outer_before = [order[k] for k in inner], [order[k] for k in outer]
        source = before.inputs[0]
        if _is_own(_order(len(order), inner_before, outer_before, side)):
            return _Taken(source, (inner_before, outer_before))
    order = _order(len(operand.shape), inner, outer, side)
    if _is_own(order):
        return _Taken(operand, (inner, outer))
    copy = _transpose(operand, order)
    axes = [order.index(each) for each in inner], [order.index(each) for each in outer]
    return _Taken(copy.output, axes, copy)


def _is_own(order: Sequence[int]) -> bool:
    return list(order) == sorted(order)


def _order(rank: int, inner: Sequence[int], outer: Sequence[int], side: int) -> tuple[int, ...]:
    """The order of axes in which the left (0) or right operand is taken: its own if it can be.

    Rows and columns may change places, but only if neither has to be merged of several axes.
    """
    free = [axis for axis in range(rank) if axis not in inner and axis not in outer]
    wanted = (*outer, *free, *inner) if side == 0 else (*outer, *inner, *free)
    other = (*outer, *inner, *free) if side == 0 else (*outer, *free, *inner)
    own = tuple(range(rank))
    return own if other == own and len(free) <= 1 and len(inner) <= 1 else wanted


def _transpose(operand: Atom, order: tuple[int, ...], made: Value | None = None) -> Node:
    shape = tuple(operand.shape[axis] for axis in order)
    made = made or Value(_jax.ShapedArray(shape, operand.dtype))
    params = {"permutation": order}
    return Node(
        "transpose", (operand,), (made,), lambda arrays: [arrays[0].transpose(order)], params
    )
