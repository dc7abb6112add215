"""Elements picked by index out of an axis that is cut into parts, and added by index into it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.transfer.indexing import FAR, clips, widened
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.tile.cut import Cut

FILL = lax.GatherScatterMode.FILL_OR_DROP


def picks_along(node: Node, axis: int) -> bool:
    """Does each index stand for one element, at a place along the axis?"""
    if node.name not in ("gather", "scatter-add"):
        return False
    numbers = node.params["dimension_numbers"]
    if node.name == "gather":
        return not numbers.offset_dims and axis in numbers.start_index_map
    along = axis in numbers.scatter_dims_to_operand_dims
    return along and not numbers.update_window_dims and not clips(node)


def gathered(node: Node, cut: Cut) -> Callable[..., list[Any]]:
    """A function of the indices and of all parts: what is picked of that in which an index lies."""
    numbers, mode = node.params["dimension_numbers"], node.params["mode"]
    place = numbers.start_index_map.index(cut.axis)

    def pick(indices: Any, *parts: Any) -> list[Any]:
        picked = None
        for k, part in enumerate(parts):
            local, inside = _local(indices, place, cut, k, clips(node))
            each = lax.gather(
                *(part, local, numbers, node.params["slice_sizes"]),
                mode=mode,
                fill_value=node.params["fill_value"],
            )
            picked = each if picked is None else jnp.where(inside, each, picked)
        return [picked]

    return pick


def scattered(node: Node, cut: Cut, k: int) -> Callable[..., list[Any]]:
    """A function of one part, of the indices and of what is added: the part with what is added into
    it."""
    numbers = node.params["dimension_numbers"]
    place = numbers.scatter_dims_to_operand_dims.index(cut.axis)

    def add(part: Any, indices: Any, updates: Any) -> list[Any]:
        local, _ = _local(indices, place, cut, k, False)
        return [lax.scatter_add(part, local, updates, numbers, mode=FILL)]

    return add


def _local(indices: Any, place: int, cut: Cut, k: int, is_clipped: bool) -> Sequence[Any]:
    """The indices within a part, and which of them are; others are the first, where out of bounds
    is moved to the bound, and otherwise in no part."""
    first, past = cut.bounds(k)
    indices = widened(indices)
    at = indices[..., place]
    if is_clipped:
        at = jnp.clip(at, 0, sum(cut.sizes) - 1)
    inside = (at >= first) & (at < past)
    at = jnp.where(inside, at - first, 0 if is_clipped else FAR)
    columns = [at if k == place else indices[..., k] for k in range(indices.shape[-1])]
    return jnp.stack(columns, -1), inside
