"""Proofs that a tile changes nothing, by interval arithmetic at run time.

A tile is skipped only if every accumulator of the pass is proven to keep its value, bit for bit:
its largest element is below all maxima so far, its exponentials underflow, or a factor is exactly
zero and the others are finite. What is not known, or may be NaN, is computed. So causal masks,
windows, padding, masks that are added, and those found at run time follow one rule.

The proofs of all tiles are found at once before the loops, as far as they need nothing of what is
accumulated: for each accumulator whose state matters, and for all others together, a number for
each tile that must be exceeded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import Part, Role, axis_roles, roles
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval, interval_of
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import (
    as_read,
    exactly,
    is_real,
    joined,
    of_each,
)
from orchestrator_core.conductor.ir.value import Literal
from orchestrator_core.conductor.tile.blocks import Blocks, Segment
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Recipe, Step, Wanted

FOLDED = 4096
"""Elements of constants whose ends XLA works out in no time when it compiles."""


def may_skip(one: Pass) -> bool:
    """Is there anything in the pass that could make a tile change nothing?"""
    if any(not one.is_row(a.spec) for a in one.shifts):
        return False
    two = [step for step in one.recipe.steps if len(roles(step.spec)) == 2]
    return any(step.node.name == "select_n" or one.flow.is_cheap(step.made[0]) for step in two) or (
        any(len(roles(spec)) == 2 for _, spec in one.recipe.leaves)
    )


def needs(one: Pass, blocks: Blocks, whole: dict[Key, Any]) -> list[Any]:
    """For each accumulator that is watched, and for all others together: an array of (outer tiles,
    inner tiles), what `have` must exceed.

    Args:
        whole: the values that leaves are cut from.
    """
    leaves = {key: interval_of_leaf(one, blocks, key, array) for key, array in whole.items()}
    known = intervals(one.recipe, blocks, one.outer, leaves)

    def interval(wanted: Wanted) -> Interval:
        return interval_of_literal(wanted) if isinstance(wanted, Literal) else known[wanted]

    shape = (blocks.count(one.outer), blocks.count(one.inner))
    found = [a.need(interval) for a in one.accumulators if a.is_watched]
    others = [a.need(interval) for a in one.accumulators if not a.is_watched]
    found += [functools.reduce(xp.maximum, others)] if others else []
    return [jnp.broadcast_to(each, shape) for each in found]


def intervals(
    recipe: Recipe, blocks: Blocks, outer: Role, leaves: dict[Key, Interval]
) -> dict[Key, Interval]:
    """Of all values of a recipe in all tiles. Infinities are ends like others."""
    known = dict(leaves)
    with np.errstate(all="ignore"):
        for step in recipe.steps:
            known[step.made] = of_step(step, blocks, outer, known)
    return known


def of_step(step: Step, blocks: Blocks, outer: Role, known: dict[Key, Interval]) -> Interval:
    if step.node.name == "iota":
        return _of_iota(step, blocks, outer)
    if not is_real(step.made[0].dtype):
        return UNKNOWN
    inputs = [interval_of_literal(w) if isinstance(w, Literal) else known[w] for w in step.inputs]
    return interval_of(step.node, inputs)


def interval_of_literal(literal: Literal) -> Interval:
    is_number = np.ndim(literal.value) == 0 and is_real(np.dtype(literal.dtype))
    return exactly(literal.value) if is_number else UNKNOWN


def _of_iota(step: Step, blocks: Blocks, outer: Role) -> Interval:
    """Positions, exactly if the axis is one tiled part."""
    axis, dtype = step.spec[step.node.params["dimension"]], np.dtype(step.node.output.dtype)
    most = math.prod(size for size, _ in axis) - 1
    if most >= 2**24 or not _holds(dtype, most):
        return UNKNOWN
    if len(axis) != 1 or axis[0][1] is None:
        return Interval(np.asarray(0.0), np.asarray(float(most)), np.bool_(True))
    role = axis[0][1]
    low, high = (blocks.along(role, each, outer) for each in blocks.ends(role))
    return Interval(low, high, np.bool_(True))


def _holds(dtype: Any, number: int) -> bool:
    """Can the type count so far?"""
    if jnp.issubdtype(dtype, jnp.floating):
        return number <= 1 / float(jnp.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    return bool(jnp.issubdtype(dtype, jnp.integer)) and number <= int(np.iinfo(dtype).max)


def interval_of_leaf(one: Pass, blocks: Blocks, key: Key, array: Any) -> Interval:
    """The ends of each block of a value. What no tile cuts is joined first, in the value's own
    shape: else XLA would make the value once more in another."""
    spec = key[1]
    found = of_each(_hidden(array))
    if found is UNKNOWN:
        return found
    plain = tuple(k for k, axis in enumerate(spec) if not axis_roles(axis))
    found = joined(found, plain) if plain else found
    left = [part for axis in spec if axis_roles(axis) for part in axis]
    found = _in_all_blocks(found, left, blocks)
    found = as_read(found) if jnp.issubdtype(array.dtype, jnp.floating) else found
    order = [role for _, role in left if role is not None]
    return _each(lambda end: _placed(end, order, blocks, one.outer), found)


def _in_all_blocks(found: Interval, left: list[Part], blocks: Blocks) -> Interval:
    """Joined in each tile; an axis for each part that has a role."""
    order = [role for _, role in left if role is not None]

    def joined_along(axis: int, chosen: dict[Role, Segment]) -> Interval:
        if axis == len(order):
            return _in_blocks(found, left, chosen)
        role = order[axis]
        made = [joined_along(axis + 1, {**chosen, role: each}) for each in blocks.segments[role]]
        return _each(lambda *ends: _side_by_side(ends, axis), *made)

    return joined_along(0, {})


def _in_blocks(found: Interval, left: list[Part], chosen: dict[Role, Segment]) -> Interval:
    """In tiles of one size."""
    shape, inside = _shape_of(left, chosen)

    def cut(end: Any) -> Any:
        end = jnp.asarray(end, jax.dtypes.canonicalize_dtype(end.dtype))
        return _covered(end, left, chosen).reshape(shape) if end.ndim else end

    return joined(_each(cut, found), inside)


def _side_by_side(ends: Sequence[Any], axis: int) -> Any:
    return jnp.concatenate(ends, axis) if len(ends) > 1 and ends[0].ndim else ends[0]


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


def _shape_of(parts: list[Part], chosen: dict[Role, Segment]) -> tuple[list[int], tuple[int, ...]]:
    """The shape with tiles and elements of tiles as axes of their own, and which are not tiles."""
    shape: list[int] = []
    inside: list[int] = []
    for size, role in parts:
        if role is not None:
            shape.append(chosen[role].count)
        inside.append(len(shape))
        shape.append(size if role is None else chosen[role].size)
    return shape, tuple(inside)


def _placed(end: Any, order: list[Role], blocks: Blocks, outer: Role) -> Any:
    """As an array of (outer tiles, inner tiles)."""
    if end.ndim == 2:
        return end if order[0] == outer else end.T
    return blocks.along(order[0], end, outer) if end.ndim == 1 else end


def _covered(array: Any, parts: list[Part], chosen: dict[Role, Segment]) -> Any:
    """The part of a value that these tiles cover."""
    array = array.reshape([size for size, _ in parts])
    for axis, (size, role) in enumerate(parts):
        if role is not None:
            first, end = chosen[role].first, chosen[role].end
            is_whole = (first, end) == (0, size)
            array = array if is_whole else lax.slice_in_dim(array, first, end, axis=axis)
    return array
