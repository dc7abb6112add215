"""Which tiles of a row a kernel visits: those between the first and the last that may matter.

What lies outside is thought to change nothing. The proof needs what has been accumulated, so it is
the kernel that completes it, and visits the others if it cannot; see `tile.skip`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import ROLES, Role, roles
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.interval import exactly, is_real
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.blocks import Blocks
from orchestrator_core.conductor.tile.foretold import USUAL, usual_interval
from orchestrator_core.conductor.tile.leaf import interval_of_leaf
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key, Wanted
from orchestrator_core.conductor.tile.skip import interval_of_literal, intervals, may_skip

FAR = -USUAL
"""A tile is thought to change nothing if what its accumulators must exceed is below this."""

DISTANT = 2.0**20
"""A whole number that a mask tells from 0."""

MOST_MASKS = 4
"""Of which all that they may hide together is looked at."""


@dataclass(frozen=True)
class Live:
    """Attributes:
    bounds: (2, rows) the first tile of a row that may matter, and the one after the last.
    needs: (accumulators, rows) what they must exceed so that all others change nothing.
    """

    bounds: Any
    needs: Any


@dataclass(frozen=True)
class Watch:
    """Attributes:
    side: whose tiles. size: of them. leaves: those whose numbers the proofs need.
    dead: (rows, columns) of the tiles that do not stick out, which may be left out if all numbers
        are of usual size.
    known: what is live where all these numbers are finite; None if that depends on more of them.
    is_last_longest: does the last row visit more tiles than the first, by positions alone?
    """

    side: Pass
    size: dict[Role, int]
    leaves: tuple[Key, ...]
    dead: Any
    known: Live | None
    is_last_longest: bool

    @property
    def part(self) -> float:
        """Of the tiles, that may be left out by positions alone."""
        return float(self.dead.sum() / math.prod(counts(self.side, self.size).values()))

    def arrays(self, values: Mapping[Value, Any]) -> list[Any]:
        """What a kernel reads, made at run time from the whole arrays of the leaves: bounds and
        needs; where these are known bounds, and whether all numbers are finite: (1,) 1 or 0."""
        if self.known is None:
            live = self._live(values)
            return [live.bounds, live.needs]
        finite = [jnp.isfinite(values[value]).all() for value, _ in self.leaves]
        found = [functools.reduce(jnp.logical_and, finite)] if finite else []
        return [self.known.bounds, *(jnp.reshape(each, 1).astype(np.int32) for each in found)]

    def _live(self, values: Mapping[Value, Any]) -> Live:
        blocks = full_tiles(self.side, self.size)
        leaves = dict.fromkeys(self.side.recipe.leaves, UNKNOWN)
        for key in self.leaves:
            leaves[key] = interval_of_leaf(values[key[0]], key[1], blocks, self.side.outer)
        return _live(self.side, self.size, leaves, jnp)

    @property
    def visits_all(self) -> bool:
        """Is each column of tiles visited by some row, by positions alone?"""
        if self.known is None:
            return False
        first, last = self.known.bounds[:, :, None]
        at = np.arange(counts(self.side, self.size)[self.side.inner])
        return bool(((first <= at) & (at < last)).any(0).all())

    @property
    def depends(self) -> list[bool]:
        """Of each accumulator: could other numbers in the leaves change what it must exceed?"""
        blocks, unknown = (
            full_tiles(self.side, self.size),
            dict.fromkeys(self.side.recipe.leaves, UNKNOWN),
        )
        finite = {**unknown, **{key: _finite(key) for key in self.leaves}}
        pairs = zip(*(_needs(self.side, blocks, x, np) for x in (unknown, finite)), strict=True)
        return [not np.array_equal(*pair) for pair in pairs]

    def needs(self, refs: Sequence[Any], row: Any) -> tuple[list[Any], list[Any]]:
        """Within a kernel, which has these arrays: what each accumulator must exceed, and what must
        be true beside."""
        count = range(len(self.side.accumulators))
        if self.known is None:
            return [refs[1][k, row] for k in count], []
        # A row that needs less has nothing to gain by it.
        needs = [np.float32(self.known.needs[k].max()) for k in count]
        return needs, [each[0] == 1 for each in refs[1:]]


def _live(side: Pass, size: dict[Role, int], leaves: dict[Key, Interval], space: Any) -> Live:
    count = counts(side, size)
    rows, columns = count[side.outer], count[side.inner]
    need = space.stack(_needs(side, full_tiles(side, size), leaves, space))
    ragged = [(0, 0), (0, rows - need.shape[1]), (0, columns - need.shape[2])]
    need = space.pad(need, ragged, constant_values=np.inf)
    matters = (need >= FAR).any(0)
    first = space.where(matters.any(1), matters.argmax(1), 0)
    last = space.where(matters.any(1), columns - matters[:, ::-1].argmax(1), 1)
    at = np.arange(columns)[None, :]
    outside = (at < first[:, None]) | (at >= last[:, None])
    most = space.where(outside[None], need, -np.inf).max(2)
    return Live(space.stack([first, last]).astype(np.int32), most.astype(np.float32))


def counts(side: Pass, size: Mapping[Role, int]) -> dict[Role, int]:
    """Tiles along each role, those that stick out included."""
    return {role: -(-side.length[role] // size[role]) for role in ROLES}


def watch_of(side: Pass, size: dict[Role, int]) -> Watch | None:
    """None if no tile can be left out.

    Of leaves that are numbers only those are looked at without which less would be proven.
    """
    blocks = full_tiles(side, size)
    if not may_skip(side) or not all(map(blocks.count, ROLES)):
        return None
    usual = {key: usual_interval(key) for key in side.recipe.leaves}
    masks = [key for key in usual if _may_mask(key)]
    hiding = max(_hiding(usual, masks), key=lambda leaves: _dead(side, blocks, leaves).sum())
    most = _dead(side, blocks, hiding).sum()
    if not most:
        return None
    left = [key for key in usual if key not in masks]
    needed = masks + [
        key for key in left if _dead(side, blocks, {**hiding, key: UNKNOWN}).sum() < most
    ]
    dead = _dead(side, blocks, usual)
    finite = {key: _finite(key) if key in needed else UNKNOWN for key in usual}
    is_known = not masks and bool((_dead(side, blocks, finite) == dead).all())
    live = _live(side, size, finite if is_known else usual, np)
    lengths = live.bounds[1] - live.bounds[0]
    return Watch(
        side,
        size,
        tuple(needed),
        dead=dead,
        known=live if is_known else None,
        is_last_longest=bool(lengths[-1] > lengths[0]),
    )


def _hiding(usual: dict[Key, Interval], masks: Sequence[Key]) -> Iterator[dict[Key, Interval]]:
    """With numbers in masks that may hide all: true or false, far apart, or infinite if added."""
    ends = [_ends(value) for value, _ in masks]
    for numbers in itertools.product(*ends[:MOST_MASKS]):
        yield {**usual, **dict(zip(masks, map(exactly, numbers), strict=False))}


def _ends(value: Value) -> tuple[float, ...]:
    if _is_number(value):
        return (-np.inf,)
    return (0.0, 1.0) if value.dtype == np.bool_ else (0.0, DISTANT)


def _finite(key: Key) -> Interval:
    """Of a leaf of real numbers that are finite."""
    if not _is_number(key[0]):
        return UNKNOWN
    info: Any = jnp.finfo(key[0].dtype)  # type: ignore[no-untyped-call]
    most = float(info.max)
    return Interval(np.asarray(-most), np.asarray(most), np.bool_(True))


def full_tiles(side: Pass, size: Mapping[Role, int]) -> Blocks:
    """The tiles that do not stick out."""
    count = {role: side.length[role] // size[role] for role in ROLES}
    return Blocks.even(count, size)


def _dead(side: Pass, blocks: Blocks, leaves: dict[Key, Interval]) -> Any:
    """(rows, columns) which tiles may be left out."""
    return np.stack([need < FAR for need in _needs(side, blocks, leaves, np)]).all(0)


def _needs(side: Pass, blocks: Blocks, leaves: dict[Key, Interval], space: Any) -> list[Any]:
    """(rows, columns) for each accumulator: what it must exceed so that a tile changes nothing."""
    known = intervals(side.recipe, blocks, side.outer, leaves)

    def interval(wanted: Wanted) -> Interval:
        return interval_of_literal(wanted) if isinstance(wanted, Literal) else known[wanted]

    shape = (blocks.count(side.outer), blocks.count(side.inner))
    return [space.broadcast_to(each.need(interval), shape) for each in side.accumulators]


def _may_mask(key: Key) -> bool:
    """Truth values and whole numbers, and what has both roles."""
    value, spec = key
    is_mask = not _is_number(value) or len(roles(spec)) == 2
    return is_real(value.dtype) and bool(roles(spec)) and is_mask


def _is_number(value: Value) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.floating))
