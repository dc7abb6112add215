"""A row of a pass: all tiles at one place along the outer loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import Role, Spec, roles
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.tile.accumulators import Accumulator, Tiles
from orchestrator_core.conductor.tile.blocks import Segment
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key

Stale: TypeAlias = Mapping[Role, Any]
"""How many elements of a tile must not count, by role, as of `Tile`."""

NONE: Stale = MappingProxyType({})

State: TypeAlias = tuple[Any, ...]
"""One array for each accumulator of a pass."""


@dataclass(frozen=True)
class Row:
    """All tiles at one place along the outer role: the tile `k` of these.

    Attributes:
        skips: as of the runner. whole: the values of the recipe.
        cut: what of these is cut for all tiles of the row.
    """

    one: Pass
    skips: bool
    whole: Mapping[Key, Any]
    tiles: Segment
    k: Any
    cut: Mapping[Key, Any] = field(default_factory=dict)

    @property
    def stale(self) -> Stale:
        return self.stale_in(self.one.outer, self.tiles, self.k)

    def stale_in(self, role: Role, tiles: Segment, k: Any) -> Stale:
        """Of the tile `k` of these along a role."""
        return {role: tiles.stale(k)} if tiles.shared and self.one.shares else NONE

    def place(self, offset: Any, size: int, stale: Stale = NONE) -> Tile:
        one = self.one
        offsets = {one.outer: self.tiles.start(self.k), one.inner: offset}
        return Tile(offsets, {one.outer: self.tiles.size, one.inner: size}, stale)

    def opened(self, state: State) -> State:
        """What belongs to the row alone, at its start."""
        row = self.place(0, 1)
        return tuple(
            jnp.full(row.shape(a.spec), a.start, a.dtype) if self.one.is_row(a.spec) else s
            for a, s in zip(self.one.accumulators, state, strict=True)
        )

    def closed(self, state: State, now: State) -> State:
        """What the tiles before have made stays: these may have skipped what it takes."""
        outer, tiles = self.one.outer, self.tiles
        row = self.place(0, 1, {outer: tiles.stale(self.k)} if tiles.shared else NONE)

        def kept(spec: Spec, old: Any, new: Any) -> Any:
            return row.into(old, spec, row.fresh(new, spec, roles(spec), row.of(old, spec)))

        return tuple(
            kept(a.spec, old, new) if self.one.is_row(a.spec) else new
            for a, old, new in zip(self.one.accumulators, state, now, strict=True)
        )

    def have(self, now: State) -> list[Any]:
        """The numbers that tell which tiles change nothing; see `needs`."""
        accumulators = self.one.accumulators
        pairs = zip(accumulators, now, strict=True)
        found = [a.have(state) for a, state in pairs if a.is_watched]
        return found if len(found) == len(accumulators) else [*found, 0.0]

    def with_tile(self, place: Tile, now: State, cut: Mapping[Key, Any]) -> State:
        """`cut`: what of `whole` is cut for this tile, beside what is for the row."""
        one, known = self.one, {**self.cut, **cut}

        def read(key: Key) -> Any:
            return known[key] if key in known else place.of(self.whole[key], key[1])

        shifts: dict[Any, tuple[Any, Any]] = {}
        tiles = Tiles(one.recipe.tiles(read, place, self.skips), place, shifts, one.overlaps)
        made = list(now)
        for k, shift in enumerate(one.shifts):
            old = self._mine(now[k], shift, place)
            new = self._added(shift, old, tiles)
            made[k] = self._put(now[k], shift, place, new)
            shifts[shift] = shift.shift(old, new)
        for k, each in enumerate(one.others, len(one.shifts)):
            new = self._added(each, self._mine(now[k], each, place), tiles)
            made[k] = self._put(now[k], each, place, new)
        return tuple(made)

    def _added(self, a: Accumulator, old: Any, tiles: Tiles) -> Any:
        """What a row has of its own is not there twice."""
        new = a.added(old, tiles)
        if self.one.is_row(a.spec):
            return new
        return tiles.place.fresh(new, a.spec, roles(a.spec), old)

    def _mine(self, array: Any, a: Accumulator, place: Tile) -> Any:
        return array if self.one.is_row(a.spec) else place.of(array, a.spec)

    def _put(self, array: Any, a: Accumulator, place: Tile, new: Any) -> Any:
        return new if self.one.is_row(a.spec) else place.into(array, a.spec, new)
