"""A pass at run time: two loops over tiles, rows finished one after another.

The last tiles of an axis that is no multiple of the tile are smaller, in a loop of their own, or
overlap those before them (`overlaps`). Where
tiles may be skipped, those of a row that need most to be skipped come first, and the row ends as
soon as all that are left are proven to change nothing. So only the order of sums changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Role, full_shape
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.tile.accumulators import Accumulator, Tiles
from orchestrator_core.conductor.tile.foretold import may_gain
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key
from orchestrator_core.conductor.tile.skip import Blocks, may_skip, needs

State: TypeAlias = tuple[Any, ...]
"""One array for each accumulator of a pass."""


@dataclass(frozen=True)
class Runner:
    """A pass over tiles of a size; called with the values of its recipe it returns a state.

    Attributes:
        skips: may tiles be left out that are proven to change nothing, and of a tile what is seldom
            needed?
    """

    one: Pass
    size: dict[Role, int]
    skips: bool

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        by_value = dict(zip(self.one.recipe.values, values, strict=True))
        whole = {key: by_value[key[0]] for key in self.one.recipe.leaves}
        state = tuple(jnp.full(full_shape(a.spec), a.start, a.dtype) for a in self.accumulators)
        for outer in self._segments(self.one.outer):
            state = self._rows(whole, state, outer)
        return list(state)

    @property
    def essence(self) -> tuple[object, ...]:
        """All that what it does depends on."""
        return self.one, self.size, self.skips, self.is_skipping

    @property
    def looks(self) -> Hashable:
        """Apart from which values it is about."""
        return self.one.looks, self.size["i"], self.size["j"], self.skips, self.is_skipping

    def one_tile(self, values: Sequence[Any], now: State, outer: Any, inner: Any) -> State:
        """What is done at one place, given by the first element along both loops."""
        by_value = dict(zip(self.one.recipe.values, values, strict=True))
        whole = {key: by_value[key[0]] for key in self.one.recipe.leaves}
        row = _Row(self, whole, outer, self.size[self.one.outer])
        return row.with_tile(row.place(inner, self.size[self.one.inner]), now)

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        return self.one.accumulators

    @functools.cached_property
    def is_skipping(self) -> bool:
        return self.skips and may_skip(self.one) and may_gain(self.one, self.size)

    def _segments(self, role: Role) -> list[tuple[int, int, int]]:
        """First element, number of tiles, and their size; the rest of the axis comes last."""
        length, size = self.one.length[role], min(self.size[role], self.one.length[role])
        count, rest = divmod(length, size)
        last = (length - size, 1, size) if self.one.overlaps else (count * size, 1, rest)
        return [(0, count, size)] + ([last] if rest else [])

    def _rows(self, whole: dict[Key, Any], state: State, outer: tuple[int, int, int]) -> State:
        """All rows of one size."""
        first, count, size = outer
        inner = [self._inner(whole, outer, each) for each in self._segments(self.one.inner)]

        def row(k: Any, state: State) -> State:
            at = _Row(self, whole, first + k * size, size)
            now = at.opened(state)
            for each in inner:
                now = each(at, k, now)
            return at.closed(state, now)

        return _loop(count, row, state)

    def _inner(self, whole: dict[Key, Any], outer: Any, inner: Any) -> _Inner:
        first, count, size = inner
        if not self.is_skipping:
            return _Inner(first, count, size, None, None)
        names = (self.one.outer, self.one.inner)
        ours = [dict(zip(names, pair, strict=True)) for pair in zip(outer, inner, strict=True)]
        need = needs(self.one, Blocks(*ours), whole)
        order, *need = _sorted(functools.reduce(jnp.maximum, need), need)
        least = lax.cummax(jnp.stack(need), 2, reverse=True)
        return _Inner(first, count, size, order, least)


@dataclass(frozen=True)
class _Row:
    """All tiles at one place along the outer role."""

    runner: Runner
    whole: dict[Key, Any]
    offset: Any
    size: int

    def place(self, offset: Any, size: int) -> Tile:
        one = self.runner.one
        return Tile(
            {one.outer: self.offset, one.inner: offset}, {one.outer: self.size, one.inner: size}
        )

    def opened(self, state: State) -> State:
        """What belongs to the row alone, at its start."""
        row = self.place(0, 1)
        return tuple(
            jnp.full(row.shape(a.spec), a.start, a.dtype) if self.runner.one.is_row(a.spec) else s
            for a, s in zip(self.runner.accumulators, state, strict=True)
        )

    def closed(self, state: State, now: State) -> State:
        row = self.place(0, 1)
        return tuple(
            row.into(old, a.spec, new) if self.runner.one.is_row(a.spec) else new
            for a, old, new in zip(self.runner.accumulators, state, now, strict=True)
        )

    def have(self, now: State) -> list[Any]:
        """The numbers that tell which tiles change nothing; see `needs`."""
        accumulators = self.runner.accumulators
        pairs = zip(accumulators, now, strict=True)
        found = [a.have(state) for a, state in pairs if a.is_watched]
        return found if len(found) == len(accumulators) else [*found, 0.0]

    def with_tile(self, place: Tile, now: State) -> State:
        one = self.runner.one

        def read(key: Key) -> Any:
            return place.of(self.whole[key], key[1])

        shifts: dict[Any, tuple[Any, Any]] = {}
        known = one.recipe.tiles(read, place, self.runner.skips)
        tiles = Tiles(known, place, shifts, one.overlaps)
        made = list(now)
        for k, shift in enumerate(one.shifts):
            old = self._mine(now[k], shift, place)
            new = shift.added(old, tiles)
            made[k] = self._put(now[k], shift, place, new)
            shifts[shift] = shift.shift(old, new)
        for k, each in enumerate(one.others, len(one.shifts)):
            new = each.added(self._mine(now[k], each, place), tiles)
            made[k] = self._put(now[k], each, place, new)
        return tuple(made)

    def _mine(self, array: Any, a: Accumulator, place: Tile) -> Any:
        return array if self.runner.one.is_row(a.spec) else place.of(array, a.spec)

    def _put(self, array: Any, a: Accumulator, place: Tile, new: Any) -> Any:
        return new if self.runner.one.is_row(a.spec) else place.into(array, a.spec, new)


@dataclass(frozen=True)
class _Inner:
    """The tiles of one size in a row.

    Attributes:
        order: for each row, in which they are visited; None: as they are, and all of them.
        needs: of each number that a row has, each row, and each tile in this order: what the number
            must exceed so that this tile and all after it change nothing.
    """

    first: int
    count: int
    size: int
    order: Any
    needs: Any

    def __call__(self, row: _Row, k: Any, now: State) -> State:
        if self.order is None:
            return _loop(
                self.count,
                lambda n, now: row.with_tile(row.place(self.first + n * self.size, self.size), now),
                now,
            )
        order, needs = self.order[k], self.needs[:, k]

        def goes_on(at: tuple[Any, State]) -> Any:
            n, now = at
            is_left = n < self.count
            need = needs[:, jnp.minimum(n, self.count - 1)]
            proofs = [need[m] < each for m, each in enumerate(row.have(now))]
            return is_left & ~functools.reduce(jnp.logical_and, proofs)

        def body(at: tuple[Any, State]) -> tuple[Any, State]:
            n, now = at
            place = row.place(self.first + order[n] * self.size, self.size)
            return n + 1, row.with_tile(place, now)

        made: State = lax.while_loop(goes_on, body, (jnp.int32(0), now))[1]
        return made


def _sorted(most: Any, arrays: Sequence[Any]) -> list[Any]:
    """The columns of each row from the one with the largest number in `most` on: where they stood,
    and arrays in that order. XLA makes what it sorts once, and what it gathers again and again."""
    at = lax.broadcasted_iota(jnp.int32, most.shape, 1)
    return list(lax.sort((-most, at, *arrays), dimension=1, is_stable=True, num_keys=1)[1:])


def _loop(count: int, body: Callable[[Any, State], State], state: State) -> State:
    if count == 1:
        return body(0, state)
    made: State = lax.fori_loop(0, count, body, state)
    return made
