"""The ends of what a pass is given: of each tile's part, before the loops.

What is given for pairs is looked at row of tiles by row of tiles. At once XLA would keep a copy of
it where tiles do not divide an axis, and which elements are NaN: all that tiling is to save.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import (
    Part,
    Role,
    Spec,
    axis_roles,
    roles,
    tile_shape,
    with_length,
)
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.interval import as_read, is_real, joined, of_each
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.tile.blocks import Blocks, Segment

FOLDED = 4096
"""Elements of constants whose ends XLA works out in no time when it compiles."""

AT_ONCE = 2**16
"""Elements of a value for pairs whose blocks are looked at all at once."""

FLOAT_BYTES = 4
"""Of what whole numbers and truth values are compared as."""


def interval_of_leaf(
    array: Any, spec: Spec, blocks: Blocks, outer: Role, *, by_rows: bool = False
) -> Interval:
    """Of each block of a value, an array of (outer tiles, inner tiles).

    Args:
        by_rows: look at a large value for pairs one row of tiles after the other.
    """
    if not is_real(array.dtype):
        return UNKNOWN
    by_rows = by_rows and len(roles(spec)) == 2 and array.size > AT_ONCE
    of_blocks = _row_by_row if by_rows else _of_blocks
    found = of_blocks(_hidden(array), spec, blocks)
    found = as_read(found) if jnp.issubdtype(array.dtype, jnp.floating) else found
    order = list(_lengths(spec))
    return _each(lambda end: _placed(end, order, blocks, outer), found)


def held_bytes(array: Any, spec: Spec, size: Mapping[Role, int]) -> int:
    """About what is held while `interval_of_leaf` looks, by rows, at an array like this one: the
    elements that are looked at, and which of them are NaN, or what whole numbers are as others.
    `size` is that of tiles."""
    if len(roles(spec)) < 2 or not is_real(array.dtype):
        return 0
    first = next(iter(_lengths(spec)))
    row = math.prod(tile_shape(spec, {**_lengths(spec), first: size[first]}))
    elements = int(array.size) if array.size <= AT_ONCE else row
    beside = 1 if jnp.issubdtype(array.dtype, jnp.floating) else FLOAT_BYTES
    return elements * (int(array.dtype.itemsize) + beside)


def _row_by_row(array: Any, spec: Spec, blocks: Blocks) -> Interval:
    """As `_of_blocks`, one row of tiles after the other; what two rows share belongs to both."""
    first = next(iter(_lengths(spec)))
    made = []
    for rows in blocks.segments[first]:
        of_row = functools.partial(_of_row, array, spec, blocks, first, rows.size)
        made.append(lax.map(of_row, rows.starts))
    return Interval(*map(jnp.concatenate, zip(*made, strict=True)))


def _of_row(
    array: Any, spec: Spec, blocks: Blocks, first: Role, size: int, offset: Any
) -> tuple[Any, ...]:
    """The ends of the blocks side by side that begin at `offset` and have `size` elements."""
    length = _lengths(spec)
    (other,) = length.keys() - {first}
    cut = Tile({first: offset, other: 0}, {**length, first: size}).of(array, spec)
    row = Blocks({first: (Segment(0, 1, size),), other: blocks.segments[other]})
    found = _of_blocks(cut, with_length(spec, first, size), row)
    return tuple(jnp.broadcast_to(end, (1, row.count(other)))[0] for end in _ends(found))


def _of_blocks(array: Any, spec: Spec, blocks: Blocks) -> Interval:
    """The ends of each block; an axis for each part that has a role. What no tile cuts is joined
    first, in the value's own shape: else XLA would make the value once more in another."""
    found = of_each(array)
    plain = tuple(k for k, axis in enumerate(spec) if not axis_roles(axis))
    found = joined(found, plain) if plain else found
    return _in_all_blocks(found, _parts_of(spec), blocks)


def _lengths(spec: Spec) -> dict[Role, int]:
    return {role: size for size, role in _parts_of(spec) if role is not None}


def _parts_of(spec: Spec) -> list[Part]:
    """Of the axes that tiles cut."""
    return [part for axis in spec if axis_roles(axis) for part in axis]


def _in_all_blocks(found: Interval, parts: list[Part], blocks: Blocks) -> Interval:
    """Joined in each tile; an axis for each part that has a role. What two tiles share belongs to
    the first, and the last one may be shorter: it is filled up with what changes nothing, since
    each size of tiles would be loops of their own, which are to be compiled."""
    shape: list[int] = []
    inside: list[int] = []
    more: list[int] = []
    for size, role in parts:
        of_tile = size if role is None else blocks.segments[role][0].size
        tiles = [] if role is None else [blocks.count(role)]
        more.append(math.prod([*tiles, of_tile]) - size)
        inside.append(len(shape) + len(tiles))
        shape += [*tiles, of_tile]

    def cut(end: Any, neutral: float | bool) -> Any:
        if not end.ndim:
            return end
        end = jnp.asarray(end, jax.dtypes.canonicalize_dtype(end.dtype))
        end = end.reshape([size for size, _ in parts])
        whole = lax.pad(end, jnp.asarray(neutral, end.dtype), [(0, n, 0) for n in more])
        return whole.reshape(shape)

    ends = (cut(found.low, np.inf), cut(found.high, -np.inf), cut(found.sound, True))
    return joined(Interval(*ends), tuple(inside))


def _each(of: Callable[..., Any], *given: Interval) -> Interval:
    """Of the ends of intervals, and whether they are sound."""
    return Interval(*(of(*those) for those in zip(*map(_ends, given), strict=True)))


def _hidden(array: Any) -> Any:
    """The same to whoever runs the program. XLA would work out by itself, one by one and for
    seconds, the ends of a mask that is a constant of the program."""
    is_large = array.size > FOLDED
    return lax.optimization_barrier(array) if is_large else array  # type: ignore[no-untyped-call]


def _ends(given: Interval) -> tuple[Any, Any, Any]:
    return given.low, given.high, given.sound


def _placed(end: Any, order: list[Role], blocks: Blocks, outer: Role) -> Any:
    """As an array of (outer tiles, inner tiles)."""
    if end.ndim == 2:
        return end if order[0] == outer else end.T
    return blocks.along(order[0], end, outer) if end.ndim == 1 else end
