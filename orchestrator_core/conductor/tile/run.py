"""A pass at run time: two loops over tiles, rows finished one after another.

The last tiles of an axis that is no multiple of the tile have elements of those before them, which
do not count twice (`overlaps`), or are smaller, in a loop of their own. Where tiles may be skipped,
those of a row that need most to be skipped come first, and the row ends as soon as all that are
left are proven to change nothing. So only the order of sums changes.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import Role, full_shape
from orchestrator_core.conductor.tile.accumulators import Accumulator
from orchestrator_core.conductor.tile.blocks import Blocks, Segment
from orchestrator_core.conductor.tile.cut_ahead import Cuts, by_key, cut, loop
from orchestrator_core.conductor.tile.foretold import may_gain
from orchestrator_core.conductor.tile.inner import Inner
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key
from orchestrator_core.conductor.tile.row import Row, State
from orchestrator_core.conductor.tile.skip import may_skip, needs

LEAST_NEW = 0.75
"""The part of the last tile that must be new if it overlaps the one before: what they share is
computed twice."""


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
        row = Row(self.one, self.skips, whole, Segment(outer, 1, self.size[self.one.outer]), 0)
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
        inner: Sequence[Inner],
        before: int,
    ) -> State:
        """All rows of one size; so many come before them."""
        one, role = self.one, self.one.outer

        def mine(k: Any) -> Cuts:
            return cut(one, role, whole, Row(one, self.skips, whole, outer, k).place(0, 1))

        def row(k: Any, cuts: Cuts, state: State) -> State:
            at = Row(one, self.skips, whole, outer, k, by_key(one, role, cuts))
            now = at.opened(state)
            for each in inner:
                now = each(at, before + k, now)
            return at.closed(state, now)

        return loop(outer.count, mine, row, state)

    def _inner(self, whole: dict[Key, Any]) -> list[Inner]:
        """The tiles of each size in all rows. What they need is asked once for all of them: it is
        thousands of operations for a compiler."""
        segments = self.blocks.segments[self.one.inner]
        if not self.is_skipping:
            return [Inner(each, None, None) for each in segments]
        order, need = _sorted(needs(self.one, self.blocks, whole), segments)
        made, before = [], 0
        for each in segments:
            mine = slice(before, before + each.count)
            least = lax.cummax(jnp.stack([array[:, mine] for array in need]), 2, reverse=True)
            made.append(Inner(each, order[:, mine] - before, least))
            before += each.count
        return made


def _sorted(need: Sequence[Any], segments: Sequence[Segment]) -> tuple[Any, list[Any]]:
    """Where the tiles of each row stood, and what they need: those that need most come first, each
    size by itself. XLA makes what it sorts once, and what it gathers, or cuts, again and again."""
    most = functools.reduce(jnp.maximum, need)
    at = lax.broadcasted_iota(jnp.int32, most.shape, 1)
    which = np.repeat(np.arange(len(segments), dtype=np.int32), [each.count for each in segments])
    keys = [-most] if len(segments) == 1 else [jnp.broadcast_to(which, most.shape), -most]
    made = lax.sort((*keys, at, *need), dimension=1, is_stable=True, num_keys=len(keys))
    return made[len(keys)], list(made[len(keys) + 1 :])
