"""Slots: the one slice of an array that an operation reads or writes, at an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import lax

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom

WRITES = {"scatter": False, "scatter-add": True, "scatter_add": True}
"""Do they add to what is there?"""


@dataclass(frozen=True)
class Slot:
    """Attributes:
    array: of which. axis: along which. index: where; of several numbers it is the one at `at`.
    slice: what is written there; None if it is read. is_added: to what was there?
    """

    array: Atom
    axis: int
    index: Atom
    at: int = 0
    slice: Atom | None = None
    is_added: bool = False


def read_by(node: Node) -> Slot | None:
    """What a node reads; None if that is not one slice."""
    if node.name == "dynamic_slice":
        axis = _cut(node.inputs[0].shape, node.params["slice_sizes"])
        return None if axis is None else Slot(node.inputs[0], axis, node.inputs[1 + axis])
    if node.name != "gather":
        return None
    array, index = node.inputs
    axis, how = _cut(array.shape, node.params["slice_sizes"]), node.params["dimension_numbers"]
    if axis is None or how.operand_batching_dims or how.start_indices_batching_dims:
        return None
    at = _at(tuple(how.start_index_map), axis, index, node.params["mode"])
    gone = tuple(how.collapsed_slice_dims)
    if at is None or not _is_whole(array, axis, gone, how.offset_dims):
        return None
    return Slot(array, axis, index, at)


def written_by(node: Node) -> Slot | None:
    """Where a node writes and what; None if that is not one slice."""
    if node.name == "dynamic_update_slice":
        array, part = node.inputs[:2]
        axis = _cut(array.shape, part.shape)
        return None if axis is None else Slot(array, axis, node.inputs[2 + axis], 0, part)
    if node.name not in WRITES:
        return None
    (array, index, part), how = node.inputs, node.params["dimension_numbers"]
    gone = tuple(how.inserted_window_dims)
    axis = gone[0] if len(gone) == 1 else _cut(array.shape, part.shape)
    if axis is None or how.operand_batching_dims or how.scatter_indices_batching_dims:
        return None
    at = _at(tuple(how.scatter_dims_to_operand_dims), axis, index, node.params["mode"])
    if at is None or not _is_whole(array, axis, gone, how.update_window_dims):
        return None
    one = [*array.shape[:axis], *([] if gone else [1]), *array.shape[axis + 1 :]]
    is_slice = list(part.shape) == one
    return Slot(array, axis, index, at, part, WRITES[node.name]) if is_slice else None


def _cut(whole: Sequence[int], part: Sequence[int]) -> int | None:
    """The only axis along which the part is not whole, if it is one slice there."""
    if len(whole) != len(part):
        return None
    cut = np.flatnonzero(np.not_equal(whole, part))
    return int(cut[0]) if len(cut) == 1 and part[cut[0]] == 1 else None


def _at(axes: tuple[int, ...], axis: int, index: Atom, mode: Any) -> int | None:
    """Which number of an index is that along the axis. Along others, where slices are whole, any
    number is put right by clipping alone."""
    if index.shape != (len(axes),) or axis not in axes:
        return None
    is_clipped = lax.GatherScatterMode.from_any(mode) == lax.GatherScatterMode.CLIP
    return axes.index(axis) if len(axes) == 1 or is_clipped else None


def _is_whole(array: Atom, axis: int, gone: tuple[int, ...], axes: Sequence[int]) -> bool:
    """Does a slice have all axes in order, with or without the one along which it is cut?"""
    return gone in ((), (axis,)) and tuple(axes) == tuple(range(len(array.shape) - len(gone)))
