"""Sums, products of matrices, and reductions by another monoid, of operands as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import ROLES, Spec, roles
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer.reductions import REDUCTIONS
from orchestrator_core.conductor.oriented import product
from orchestrator_core.conductor.tile.accumulators.base import (
    NEVER,
    IntervalOf,
    Tiles,
    always_if,
    summing_type,
)
from orchestrator_core.conductor.tile.neutral import neutral
from orchestrator_core.conductor.tile.recipe import Wanted, key_of
from orchestrator_core.conductor.tile.region import Boundary
from orchestrator_core.conductor.tile.skews.products import BY_ROWS, rows_of

COMBINE: Mapping[str, Callable[[Any, Any], Any]] = {
    "sum": lax.add,
    "max": lax.max,
    "min": lax.min,
    "product": lax.mul,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
}


@dataclass(frozen=True)
class Reduced:
    """The boundary's own operation on each tile, combined.

    Attributes:
        scale: a power of two that an operand of a sum is multiplied with, which loses nothing but
            what is very small.
    """

    boundary: Boundary
    scale: float = 1.0

    @property
    def kind(self) -> str:
        return REDUCTIONS.get(self.boundary.node.name, "sum")

    @property
    def may_overflow(self) -> bool:
        """Does it add numbers, of which parts may be too large where the whole is not?"""
        return self.kind == "sum" and bool(jnp.issubdtype(self.dtype, jnp.floating))

    @property
    def spec(self) -> Spec:
        return self.boundary.out

    @property
    def dtype(self) -> Any:
        dtype = self.boundary.node.output.dtype
        return summing_type(dtype) if self.kind == "sum" else np.dtype(dtype)

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        return tuple(map(key_of, self.boundary.node.inputs, self.boundary.inputs))

    @property
    def start(self) -> Any:
        return neutral(self.kind, self.dtype)

    def added(self, old: Any, tiles: Tiles) -> Any:
        operands = [tiles[each] for each in self.wanted]
        *rest, last = fresh(self.boundary, operands, tiles, self.start)
        if self.scale != 1:
            last = last * jnp.asarray(self.scale, last.dtype)
        part = applied(self.boundary, [*rest, last], tiles.place)
        return COMBINE[self.kind](old, part.astype(old.dtype))

    def need(self, interval: IntervalOf) -> Any:
        found = [interval(each) for each in self.wanted]
        if self.kind == "sum":
            finite = all_of(each.is_finite for each in found)
            return always_if(finite & any_of(each.is_zero for each in found))
        (given,) = found
        if self.kind == "max":
            return xp.where(given.sound, given.high, NEVER)
        if self.kind == "min":
            return xp.where(given.sound, -given.low, NEVER)
        same = given.sound & (given.low == given.high) & (given.low == float(self.start))
        return always_if(same if self.kind == "product" or self.dtype == np.bool_ else False)

    @property
    def is_watched(self) -> bool:
        return self.kind in ("max", "min")

    def have(self, now: Any) -> Any:
        if self.kind == "max":
            return now.min().astype(float)
        return -(now.max().astype(float)) if self.kind == "min" else 0.0


def fresh(boundary: Boundary, operands: list[Any], tiles: Tiles, neutral: Any) -> list[Any]:
    """With what changes nothing instead of elements that have been told by the tile before."""
    added = frozenset(ROLES) - roles(boundary.out)
    return [
        tiles.place.fresh(operand, spec, added, np.asarray(neutral, operand.dtype))
        for operand, spec in zip(operands, boundary.inputs, strict=True)
    ]


def applied(boundary: Boundary, operands: list[Any], place: Tile) -> Any:
    """A sum in at least 32 bits, or any other boundary, of tiles."""
    node = boundary.node
    if node.name == BY_ROWS:
        spec = boundary.inputs[node.params["side"]]
        return rows_of(node, operands, spec, place, summing_type(node.output.dtype))
    if node.name == "dot_general":
        left, right = operands
        return product(
            left,
            right,
            node.params["dimension_numbers"],
            precision=node.params["precision"],
            preferred_element_type=summing_type(node.output.dtype),
        )
    (operand,) = operands
    if node.name == "reduce_sum":
        return jnp.sum(operand, node.params["axes"], dtype=summing_type(node.output.dtype))
    return node.apply(operands)[0]


def all_of(flags: Any) -> Any:
    made: Any = np.bool_(True)
    for each in flags:
        made = made & each
    return made


def any_of(flags: Any) -> Any:
    made: Any = np.bool_(False)
    for each in flags:
        made = made | each
    return made
