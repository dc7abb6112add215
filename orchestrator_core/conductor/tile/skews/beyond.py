"""What a product with a skew has from where the skew has nothing: zero times infinity is NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.cost import Work
from orchestrator_core.conductor.facts.lines.skew import Skew
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.accumulators.summed import spread

NAME = "beyond_skew"

Parts: TypeAlias = list[tuple[Any, Any]]
"""For each row of a skew, or each column, the first element along the other axis, and the one after
the last; of each piece."""


def parts_of(pieces: Sequence[Skew], is_of_rows: bool) -> Parts:
    return [_part(piece, is_of_rows) for piece in pieces]


def _part(piece: Skew, is_of_rows: bool) -> tuple[Any, Any]:
    if is_of_rows:
        rows = np.arange(piece.rows)
        at, sign, size = piece.turn * rows + piece.first, piece.step, piece.columns
        begin, end = np.zeros_like(rows), np.full_like(rows, size)
        is_there = (rows >= piece.begin) & (rows < piece.end)
    else:
        columns = np.arange(piece.columns)
        at, sign = piece.step * columns + piece.first, piece.turn
        begin, end = np.full_like(columns, piece.begin), np.full_like(columns, piece.end)
        is_there = np.ones_like(columns, bool)
    # Those x for which 0 <= at + sign * x < count.
    first, last = (-at, piece.count - at) if sign > 0 else (at - piece.count + 1, at + 1)
    first, last = np.clip(first, begin, end), np.clip(last, begin, end)
    return first, np.where(is_there, np.maximum(last, first), first)


def with_beyond(made: Value, product: Node, side: int, axis: int, at: int, parts: Parts) -> Node:
    """The node of a product that was summed where a skew has elements, with what it has elsewhere:
    NaN if the other operand is no number there.

    Args:
        made: the sum. product: as it was written. side: of the skew. axis: of the other operand,
            which is summed. at: the axis of the result that is the skew's other one.
    """
    other = product.inputs[1 - side]
    assert isinstance(other, Value)

    def apply(arrays: Sequence[Any]) -> list[Any]:
        is_number = jnp.isfinite(arrays[1])

        def spoiled(sums: Any) -> Any:
            bad = _outside(product, 1 - side, ~is_number, axis, parts)
            return jnp.where(_laid(product, 1 - side, bad, axis, at), jnp.nan, sums)

        return [lax.cond(is_number.all(), lambda sums: sums, spoiled, arrays[0])]

    work = Work(flops=float(other.size), nbytes=float(other.nbytes), kernels=1.0)
    inputs, params = (made, other), {"work": work}
    return Node(NAME, inputs, product.outputs, apply, params, source=product.source)


def _outside(product: Node, side: int, bad: Any, axis: int, parts: Parts) -> Any:
    """For each part along an axis: is any bad that lies in none of the parts?"""
    others = tuple(k for k in Sides.of(product).contracted[side] if k != axis)
    bad = bad.any(others, keepdims=True)
    one_more = [(1, 0) if k == axis else (0, 0) for k in range(bad.ndim)]
    before = jnp.pad(jnp.cumsum(bad, axis, dtype=jnp.int32), one_more)
    inside = sum(
        jnp.take(before, last, axis) - jnp.take(before, first, axis) for first, last in parts
    )
    return lax.slice_in_dim(before, bad.shape[axis], bad.shape[axis] + 1, axis=axis) > inside


def _laid(product: Node, side: int, bad: Any, axis: int, at: int) -> Any:
    """In the axes of the result, of which one is that axis."""
    one_by_one = jnp.expand_dims(jnp.moveaxis(bad, axis, 0), axis + 1)
    laid = jax.vmap(lambda each: spread(product, side, each))(one_by_one)
    return jnp.moveaxis(jnp.squeeze(laid, at + 1), 0, at)
