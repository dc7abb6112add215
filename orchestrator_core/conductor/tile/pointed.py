"""Elements picked and put by index, in one form: windows of one element are no windows.

So does ``vmap`` write ``row[label]``: as windows, whose indices are moved to the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.number_types import largest_integer
from orchestrator_core.conductor.facts.transfer.indexing import SCATTERS, clips
from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

PUTS = (*SCATTERS, "scatter")


def pointed(node: Node, producer: Mapping[Value, Node]) -> list[Node]:
    """The same without windows; the node itself if it has other ones, or none."""
    if node.name == "gather" and _are_ones(node, node.params["dimension_numbers"].offset_dims):
        return _picked(node)
    if node.name in PUTS and _are_ones(node, node.params["dimension_numbers"].update_window_dims):
        return _put(node, producer)
    return [node]


def _are_ones(node: Node, windows: tuple[int, ...]) -> bool:
    """Are there windows, of one element each?"""
    shape = node.output.shape if node.name == "gather" else node.inputs[2].shape
    return bool(windows) and all(shape[axis] == 1 for axis in windows)


def _picked(node: Node) -> list[Node]:
    numbers = node.params["dimension_numbers"]
    taken = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    windows = [axis for axis in range(len(node.inputs[0].shape)) if axis not in taken]
    params = {
        **node.params,
        "dimension_numbers": numbers._replace(
            offset_dims=(),
            collapsed_slice_dims=tuple(sorted((*numbers.collapsed_slice_dims, *windows))),
        ),
    }
    picked = _like(node.output, _without(node.output.shape, numbers.offset_dims))
    gather = of_primitive(node.primitive, node.inputs, (picked,), params, source=node.source)
    return [gather, reshaped(picked, node.output, node)]


def _put(node: Node, producer: Mapping[Value, Node]) -> list[Node]:
    numbers = node.params["dimension_numbers"]
    adds = node.name != "scatter"
    if not (adds or _are_apart(node, producer)) or (clips(node) and node.inputs[1].shape[-1] != 1):
        return [node]
    operand, indices, updates = node.inputs
    made: list[Node] = []
    if clips(node):
        axis = numbers.scatter_dims_to_operand_dims[0]
        made.append(_clamped(indices, operand.shape[axis] - 1, node))
        indices = made[-1].output
    taken = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    windows = [axis for axis in range(len(operand.shape)) if axis not in taken]
    points = _like(updates, _without(updates.shape, numbers.update_window_dims))
    made.append(reshaped(updates, points, node))
    params = {
        **node.params,
        "dimension_numbers": numbers._replace(
            update_window_dims=(),
            inserted_window_dims=tuple(sorted((*numbers.inserted_window_dims, *windows))),
        ),
        "mode": lax.GatherScatterMode.FILL_OR_DROP,
    }
    primitive = node.primitive if adds else lax.scatter_add_p
    inputs = (operand, indices, points)
    return [*made, of_primitive(primitive, inputs, node.outputs, params, source=node.source)]


def _are_apart(node: Node, producer: Mapping[Value, Node]) -> bool:
    """Is one element put into each batch of zeros, so that it can as well be added?"""
    numbers = node.params["dimension_numbers"]
    batches = len(numbers.scatter_indices_batching_dims)
    if batches != len(node.inputs[1].shape) - 1:
        return False
    zero = everywhere(node.inputs[0], producer)
    return zero is not None and bool(zero == 0)


def _clamped(indices: Atom, last: int, node: Node) -> Node:
    """Indices moved to the bounds, or as far as their type can point."""
    last = min(last, largest_integer(indices.dtype))
    aval = _jax.ShapedArray((), indices.dtype)
    bounds = [Literal(np.asarray(each, indices.dtype)[()], aval) for each in (0, last)]
    made = _like(indices, indices.shape)
    return of_primitive(
        lax.clamp_p, (bounds[0], indices, bounds[1]), (made,), {}, source=node.source
    )


def _like(atom: Atom, shape: tuple[int, ...]) -> Value:
    return Value(_jax.ShapedArray(shape, atom.dtype))


def _without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def reshaped(given: Atom, made: Value, node: Node) -> Node:
    """What gives a value's elements another shape, for the sake of a node."""
    params = {"new_sizes": made.shape, "dimensions": None, "sharding": None}
    return of_primitive(lax.reshape_p, (given,), (made,), params, source=node.source)
