"""A pass at run time: two loops over tiles, rows finished one after another.

The last tiles of an axis that is no multiple of the tile have elements of those before them, which
do not count twice (`overlaps`), or are smaller, in a loop of their own. Where tiles may be skipped,
those of a row that need most to be skipped come first, and the row ends as soon as all that are
left are proven to change nothing. So only the order of sums changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.cost.short_rows import SHORT
from orchestrator_core.conductor.facts.axes import Role, Spec, full_shape, roles
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.tile.accumulators import Accumulator, Tiles
from orchestrator_core.conductor.tile.blocks import Blocks, Segment
from orchestrator_core.conductor.tile.foretold import may_gain
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key
from orchestrator_core.conductor.tile.skip import may_skip, needs

LEAST_NEW = 0.75
"""The part of the last tile that must be new if it overlaps the one before: what they share is
computed twice."""

Stale: TypeAlias = Mapping[Role, Any]
"""How many elements of a tile must not count, by role, as of `Tile`."""

NONE: Stale = MappingProxyType({})

State: TypeAlias = tuple[Any, ...]
"""One array for each accumulator of a pass."""

Cuts: TypeAlias = list[Any]
"""What a row, or a tile, has of each value whose tiles are cut ahead."""


@dataclass(frozen=True)
class Runner:
    """A pass over tiles of a size; called with the values of its recipe it returns a state.

    Attributes:
        skips: may tiles be left out that are proven to change nothing, and of a tile what is seldom
            needed?
        rare: does it seldom run? Then it is little code, and takes the time that it takes.
    """

    one: Pass
    size: dict[Role, int]
    skips: bool
    rare: bool = False

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        by_value = dict(zip(self.one.recipe.values, values, strict=True))
        whole = {key: by_value[key[0]] for key in self.one.recipe.leaves}
        state = tuple(jnp.full(full_shape(a.spec), a.start, a.dtype) for a in self.accumulators)
        inner, before = self._inner(whole), 0
        for outer in self.blocks.segments[self.one.outer]:
            state = self._rows(whole, state, outer, inner, before)
            before += outer.count
        return list(state)

    @property
    def essence(self) -> tuple[object, ...]:
        """All that what it does depends on."""
        return self.one, self.size, self.skips, self.is_skipping, self.rare

    @property
    def looks(self) -> Hashable:
        """Apart from which values it is about."""
        sizes = (self.size["i"], self.size["j"])
        return self.one.looks, *sizes, self.skips, self.is_skipping, self.rare

    def one_tile(self, values: Sequence[Any], now: State, outer: Any, inner: Any) -> State:
        """What is done at one place, given by the first element along both loops."""
        by_value = dict(zip(self.one.recipe.values, values, strict=True))
        whole = {key: by_value[key[0]] for key in self.one.recipe.leaves}
        row = _Row(self, whole, Segment(outer, 1, self.size[self.one.outer]), 0)
        return row.with_tile(row.place(inner, self.size[self.one.inner]), now, {})

    @property
    def accumulators(self) -> tuple[Accumulator, ...]:
        return self.one.accumulators

    @functools.cached_property
    def is_skipping(self) -> bool:
        return self.skips and may_skip(self.one) and may_gain(self.one, self.size)

    @functools.cached_property
    def blocks(self) -> Blocks:
        return Blocks({role: self._segments(role) for role in (self.one.outer, self.one.inner)})

    def _segments(self, role: Role) -> tuple[Segment, ...]:
        """The rest of the axis comes last."""
        length, size = self.one.length[role], min(self.size[role], self.one.length[role])
        count, rest = divmod(length, size)
        if not rest:
            return (Segment(0, count, size),)
        repeats = self.one.overlaps or (role == self.one.outer and self.one.repeats)
        is_mostly_new = LEAST_NEW * size <= rest or (self.rare and not self.one.compares)
        if repeats or (self.one.shares and is_mostly_new):
            return (Segment(0, count + 1, size, shared=size - rest),)
        return Segment(0, count, size), Segment(count * size, 1, rest)

    def _rows(
        self,
        whole: dict[Key, Any],
        state: State,
        outer: Segment,
        inner: Sequence[_Inner],
        before: int,
    ) -> State:
        """All rows of one size; so many come before them."""

        def cut(k: Any) -> Cuts:
            row = _Row(self, whole, outer, k)
            return self.cut(self.one.outer, whole, row.place(0, 1))

        def row(k: Any, cuts: Cuts, state: State) -> State:
            at = _Row(self, whole, outer, k, self.by_key(self.one.outer, cuts))
            now = at.opened(state)
            for each in inner:
                now = each(at, before + k, now)
            return at.closed(state, now)

        return _loop(outer.count, cut, row, state)

    def cut(self, role: Role, whole: Mapping[Key, Any], place: Tile) -> Cuts:
        return [place.of(whole[key], key[1]) for key in self._cut_along(role)]

    def by_key(self, role: Role, cuts: Cuts) -> dict[Key, Any]:
        return dict(zip(self._cut_along(role), cuts, strict=True))

    def _cut_along(self, role: Role) -> list[Key]:
        """Points: vectors of few coordinates, of which operations read one and another."""
        found = (key for key in self.one.recipe.leaves if roles(key[1]) == {role})
        return [(value, spec) for value, spec in found if 1 < value.shape[-1] < SHORT]

    def stale(self, role: Role, tiles: Segment, k: Any) -> Stale:
        return {role: tiles.stale(k)} if tiles.shared and self.one.shares else NONE

    def _inner(self, whole: dict[Key, Any]) -> list[_Inner]:
        """The tiles of each size in all rows. What they need is asked once for all of them: it is
        thousands of operations for a compiler."""
        segments = self.blocks.segments[self.one.inner]
        if not self.is_skipping:
            return [_Inner(each, None, None) for each in segments]
        order, need = _sorted(needs(self.one, self.blocks, whole), segments)
        made, before = [], 0
        for each in segments:
            mine = slice(before, before + each.count)
            least = lax.cummax(jnp.stack([array[:, mine] for array in need]), 2, reverse=True)
            made.append(_Inner(each, order[:, mine] - before, least))
            before += each.count
        return made


@dataclass(frozen=True)
class _Row:
    """All tiles at one place along the outer role: the tile `k` of these.

    Attributes:
        cut: what of `whole` is cut for all of them.
    """

    runner: Runner
    whole: Mapping[Key, Any]
    tiles: Segment
    k: Any
    cut: Mapping[Key, Any] = field(default_factory=dict)

    @property
    def stale(self) -> Stale:
        return self.runner.stale(self.runner.one.outer, self.tiles, self.k)

    def place(self, offset: Any, size: int, stale: Stale = NONE) -> Tile:
        one = self.runner.one
        offsets = {one.outer: self.tiles.start(self.k), one.inner: offset}
        return Tile(offsets, {one.outer: self.tiles.size, one.inner: size}, stale)

    def opened(self, state: State) -> State:
        """What belongs to the row alone, at its start."""
        row = self.place(0, 1)
        return tuple(
            jnp.full(row.shape(a.spec), a.start, a.dtype) if self.runner.one.is_row(a.spec) else s
            for a, s in zip(self.runner.accumulators, state, strict=True)
        )

    def closed(self, state: State, now: State) -> State:
        """What the tiles before have made stays: these may have skipped what it takes."""
        outer, tiles = self.runner.one.outer, self.tiles
        row = self.place(0, 1, {outer: tiles.stale(self.k)} if tiles.shared else NONE)

        def kept(spec: Spec, old: Any, new: Any) -> Any:
            return row.into(old, spec, row.fresh(new, spec, roles(spec), row.of(old, spec)))

        return tuple(
            kept(a.spec, old, new) if self.runner.one.is_row(a.spec) else new
            for a, old, new in zip(self.runner.accumulators, state, now, strict=True)
        )

    def have(self, now: State) -> list[Any]:
        """The numbers that tell which tiles change nothing; see `needs`."""
        accumulators = self.runner.accumulators
        pairs = zip(accumulators, now, strict=True)
        found = [a.have(state) for a, state in pairs if a.is_watched]
        return found if len(found) == len(accumulators) else [*found, 0.0]

    def with_tile(self, place: Tile, now: State, cut: Mapping[Key, Any]) -> State:
        """`cut`: what of `whole` is cut for this tile, beside what is for the row."""
        one, known = self.runner.one, {**self.cut, **cut}

        def read(key: Key) -> Any:
            return known[key] if key in known else place.of(self.whole[key], key[1])

        shifts: dict[Any, tuple[Any, Any]] = {}
        tiles = Tiles(one.recipe.tiles(read, place, self.runner.skips), place, shifts, one.overlaps)
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
        if self.runner.one.is_row(a.spec):
            return new
        return tiles.place.fresh(new, a.spec, roles(a.spec), old)

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

    tiles: Segment
    order: Any
    needs: Any

    def __call__(self, row: _Row, k: Any, now: State) -> State:
        """Of row `k` of all."""
        if self.order is None:
            cut, step = functools.partial(self._cut, row), functools.partial(self._with, row)
            return _loop(self.tiles.count, cut, step, now)
        order, needs, last = self.order[k], self.needs[:, k], self.tiles.count - 1

        def goes_on(at: tuple[Any, Cuts, State]) -> Any:
            n, _, now = at
            need = needs[:, jnp.minimum(n, last)]
            proofs = [need[m] < each for m, each in enumerate(row.have(now))]
            return (n <= last) & ~functools.reduce(jnp.logical_and, proofs)

        def body(at: tuple[Any, Cuts, State]) -> tuple[Any, Cuts, State]:
            n, cuts, now = at
            then = self._cut(row, order[jnp.minimum(n + 1, last)])
            return n + 1, then, self._with(row, order[n], cuts, now)

        first = jnp.int32(0), self._cut(row, order[0]), now
        made: State = lax.while_loop(goes_on, body, first)[2]
        return made

    def _cut(self, row: _Row, n: Any) -> Cuts:
        runner, place = row.runner, row.place(self.tiles.start(n), self.tiles.size)
        return runner.cut(runner.one.inner, row.whole, place)

    def _with(self, row: _Row, n: Any, cuts: Cuts, now: State) -> State:
        # Most tiles have no stale elements. To leave out none of them costs less than to ask: in a
        # branch XLA computes with one thread what it computes with all of them elsewhere.
        runner, role = row.runner, row.runner.one.inner
        stale = {**row.stale, **runner.stale(role, self.tiles, n)}
        place = row.place(self.tiles.start(n), self.tiles.size, stale)
        return row.with_tile(place, now, runner.by_key(role, cuts))


def _sorted(need: Sequence[Any], segments: Sequence[Segment]) -> tuple[Any, list[Any]]:
    """Where the tiles of each row stood, and what they need: those that need most come first, each
    size by itself. XLA makes what it sorts once, and what it gathers, or cuts, again and again."""
    most = functools.reduce(jnp.maximum, need)
    at = lax.broadcasted_iota(jnp.int32, most.shape, 1)
    which = np.repeat(np.arange(len(segments), dtype=np.int32), [each.count for each in segments])
    keys = [-most] if len(segments) == 1 else [jnp.broadcast_to(which, most.shape), -most]
    made = lax.sort((*keys, at, *need), dimension=1, is_stable=True, num_keys=len(keys))
    return made[len(keys)], list(made[len(keys) + 1 :])


def _loop(
    count: int,
    cut: Callable[[Any], Cuts],
    step: Callable[[Any, Cuts, State], State],
    state: State,
) -> State:
    """``state = step(n, cut(n), state)`` for each n below the count.

    What a step needs of points is cut in the one before. In the same step XLA's CPU code would cut
    it within each kernel; and one that reads both coordinates of a point asks anew for each element
    where to cut, so that it makes no vectors.
    """
    if count == 1:
        return step(0, cut(0), state)

    def body(n: Any, at: tuple[Cuts, State]) -> tuple[Cuts, State]:
        cuts, now = at
        return cut(jnp.minimum(n + 1, count - 1)), step(n, cuts, now)

    made: State = lax.fori_loop(0, count, body, (cut(0), state))[1]
    return made
