"""Elements picked by index out of a tiled axis, and added by index into one.

A tile picks what lies in it, as zero what does not; the picks of all tiles add up. Of what is added
into a tile, that which lies outside is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import (
    Spec,
    Untileable,
    axis_roles,
    roles,
    untiled,
    whole,
)
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.rule import RULES, Onward, Rule
from orchestrator_core.conductor.ir.node import Node

FAR = 2**30
"""An index that is in no tile."""


def widened(indices: Any) -> Any:
    """In 32 bits at least: narrow ones may not hold where they are within a tile."""
    return indices.astype(np.int32) if indices.dtype.itemsize < 4 else indices


def clips(node: Node) -> bool:
    """Are indices out of bounds moved to the bound? So XLA does with what is picked wherever it is
    not told to fill, also where they were promised to be inside; what is put there is dropped."""
    mode = str(node.params["mode"])
    return "FILL" not in mode if node.name == "gather" else "CLIP" in mode


def _scatter_back(node: Node, spec: Spec) -> list[Spec]:
    numbers = node.params["dimension_numbers"]
    if numbers.update_window_dims or clips(node):
        raise Untileable(f"{node.name} of windows")
    indices, updates = list(untiled(node.inputs[1].shape)), list(untiled(node.inputs[2].shape))
    batches = dict(
        zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    )
    for axis, at in batches.items():
        indices[at] = updates[at] = spec[axis]
    for k, axis in enumerate(spec):
        by_index = k in numbers.inserted_window_dims and len(axis) == 1
        if axis_roles(axis) and k not in batches and not by_index:
            raise Untileable(f"{node.name} along a tiled axis")
    return [spec, tuple(indices), tuple(updates)]


def _scatter_forward(node: Node, place: int, spec: Spec) -> Onward:
    if place == 2:
        return _added_by_tiles(node, spec)
    if place:
        raise Untileable(f"{node.name} by tiled indices")
    return Onward(spec, tuple(_scatter_back(node, spec)))


def _added_by_tiles(node: Node, spec: Spec) -> Onward:
    """Into a table that is there as a whole, or of which each row has its own part: each tile adds
    what it has."""
    numbers = node.params["dimension_numbers"]
    windows = numbers.update_window_dims
    if any(axis_roles(spec[k]) for k in windows):
        raise Untileable(f"{node.name} of windows")
    added = tuple(axis for k, axis in enumerate(spec) if k not in windows)
    indices = (*added, *untiled(node.inputs[1].shape[-1:]))
    axes = list(untiled(node.output.shape))
    batches = (numbers.operand_batching_dims, numbers.scatter_indices_batching_dims)
    for axis, at in zip(*batches, strict=True):
        axes[axis] = added[at]
    table = tuple(axes)
    return Onward(table, (table, indices, spec), roles(spec) - roles(table))


def _scatter_tile(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    operand, indices, updates = arrays[0], widened(arrays[1]), arrays[2]
    numbers = node.params["dimension_numbers"]
    shifts = [_offset(spec[axis], tile) for axis in numbers.scatter_dims_to_operand_dims]
    local = indices - jnp.stack([jnp.asarray(each, indices.dtype) for each in shifts])
    outside = (indices < 0) | (local < 0)
    local = jnp.where(outside, jnp.asarray(FAR, indices.dtype), local)
    mode = lax.GatherScatterMode.FILL_OR_DROP
    return lax.scatter_add(operand, local, updates, numbers, mode=mode)


def _offset(axis: Any, tile: Tile) -> Any:
    return sum((tile.offset[role] for _, role in axis if role is not None), start=0)


def _gather_back(node: Node, spec: Spec) -> list[Spec]:
    """Out of a table that is there as a whole, or of which each row has its own part."""
    numbers = node.params["dimension_numbers"]
    picked = [axis for k, axis in enumerate(spec) if k not in numbers.offset_dims]
    if any(axis_roles(spec[k]) for k in numbers.offset_dims):
        raise Untileable(f"{node.name} of windows")
    table = list(untiled(node.inputs[0].shape))
    batches = (numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    for axis, at in zip(*batches, strict=True):
        table[axis] = picked[at]
    return [tuple(table), (*picked, *untiled(node.inputs[1].shape[-1:]))]


def _gather_by_tiles(node: Node, spec: Spec) -> Onward:
    """What a tile of the indices picks."""
    if axis_roles(spec[-1]):
        raise Untileable(f"{node.name} by indices whose parts are tiled")
    picked = iter(spec[:-1])
    windows = node.params["dimension_numbers"].offset_dims
    shape = node.output.shape
    out = tuple(whole(n) if k in windows else next(picked) for k, n in enumerate(shape))
    return Onward(out, tuple(_gather_back(node, out)))


def _gather_forward(node: Node, place: int, spec: Spec) -> Onward:
    if place == 1:
        return _gather_by_tiles(node, spec)
    numbers = node.params["dimension_numbers"]
    if place or numbers.offset_dims:
        raise Untileable(f"{node.name} of windows")
    indices = list(untiled(node.inputs[1].shape))
    batches = dict(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    for axis, at in batches.items():
        indices[at] = spec[axis]
    for k, axis in enumerate(spec):
        by_index = k in numbers.start_index_map and k in numbers.collapsed_slice_dims
        if axis_roles(axis) and k not in batches and not (by_index and len(axis) == 1):
            raise Untileable(f"{node.name} along a tiled axis")
    out = tuple(indices[:-1])
    return Onward(out, (spec, tuple(indices)), roles(spec) - roles(out))


SCATTERS = ("scatter-add", "scatter_add")

RULES.update(
    dict.fromkeys(SCATTERS, Rule(_scatter_back, _scatter_forward, _scatter_tile, sums=True))
)
RULES["gather"] = Rule(_gather_back, _gather_forward, sums=True)
