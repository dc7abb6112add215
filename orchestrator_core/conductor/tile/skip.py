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
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Role, roles
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval, interval_of
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import (
    exactly,
    is_real,
)
from orchestrator_core.conductor.facts.number_types import counts_to
from orchestrator_core.conductor.ir.value import Literal
from orchestrator_core.conductor.tile.blocks import Blocks
from orchestrator_core.conductor.tile.leaf import interval_of_leaf
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Recipe, Step, Wanted


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
    leaves = {
        key: interval_of_leaf(array, key[1], blocks, one.outer, by_rows=True)
        for key, array in whole.items()
    }
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
    if most >= 2**24 or not counts_to(dtype, most):
        return UNKNOWN
    if len(axis) != 1 or axis[0][1] is None:
        return Interval(np.asarray(0.0), np.asarray(float(most)), np.bool_(True))
    role = axis[0][1]
    low, high = (blocks.along(role, each, outer) for each in blocks.ends(role))
    return Interval(low, high, np.bool_(True))
