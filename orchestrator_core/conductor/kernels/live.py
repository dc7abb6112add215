"""Which tiles of a row a kernel visits: those between the first and the last that may matter.

What lies outside is thought to change nothing. The proof needs what has been accumulated, so it is
the kernel that completes it, and visits the others if it cannot; see `tile.skip`.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
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
    left_out: so many of the tiles that do not stick out may be left out if all numbers are of
        usual size.
    known: what is live where all these numbers are finite; None if that depends on more of them.
    is_last_longest: does the last row visit more tiles than the first, by positions alone?
    """

    side: Pass
    size: dict[Role, int]
    leaves: tuple[Key, ...]
    left_out: int
    known: Live | None
    is_last_longest: bool

    @property
    def part(self) -> float:
        """Of the tiles, that may be left out by positions alone."""
        return self.left_out / math.prod(counts(self.side, self.size).values())

    def live(self, strip: Blocks) -> Any:
        """(rows, columns) which tiles of a strip may matter though all numbers are of usual
        size."""
        return ~_dead(_stacked(self.side, strip, _usual(self.side)))

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
        count = counts(self.side, self.size)
        needs = jnp.stack(_needs(self.side, blocks, leaves, jnp))
        return _live(needs, count[self.side.outer], count[self.side.inner], jnp)

    @property
    def visits_all(self) -> bool:
        """Is each column of tiles visited by some row, by positions alone?"""
        if self.known is None:
            return False
        first, last = self.known.bounds
        changes = np.zeros(counts(self.side, self.size)[self.side.inner] + 1, int)
        np.add.at(changes, first, 1)
        np.add.at(changes, last, -1)
        return bool((np.cumsum(changes)[:-1] > 0).all())

    @property
    def depends(self) -> list[bool]:
        """Of each accumulator: could other numbers in the leaves change what it must exceed?"""
        unknown = dict.fromkeys(self.side.recipe.leaves, UNKNOWN)
        finite = {**unknown, **{key: _finite(key) for key in self.leaves}}
        found = np.zeros(len(self.side.accumulators), bool)
        for strip in strips(self.side, self.size):
            one, other = (_stacked(self.side, strip, leaves) for leaves in (unknown, finite))
            found |= (one != other).any((1, 2))
        return [bool(each) for each in found]

    def needs(self, refs: Sequence[Any], row: Any) -> tuple[list[Any], list[Any]]:
        """Within a kernel, which has these arrays: what each accumulator must exceed, and what must
        be true beside."""
        count = range(len(self.side.accumulators))
        if self.known is None:
            return [refs[1][k, row] for k in count], []
        # A row that needs less has nothing to gain by it.
        needs = [np.float32(self.known.needs[k].max()) for k in count]
        return needs, [each[0] == 1 for each in refs[1:]]


def _live(need: Any, rows: int, columns: int, space: Any) -> Live:
    """Of so many rows and columns of tiles.

    Args:
        need: (accumulators, rows, columns) of the tiles that do not stick out.
    """
    ragged = [(0, 0), (0, rows - need.shape[1]), (0, columns - need.shape[2])]
    need = space.pad(need, ragged, constant_values=np.inf)
    matters = (need >= FAR).any(0)
    first = space.where(matters.any(1), matters.argmax(1), 0)
    last = space.where(matters.any(1), columns - matters[:, ::-1].argmax(1), 1)
    at = np.arange(columns)[None, :]
    outside = (at < first[:, None]) | (at >= last[:, None])
    most = space.where(outside[None], need, -np.inf).max(2)
    return Live(space.stack([first, last]).astype(np.int32), most.astype(np.float32))


def _planned(side: Pass, size: dict[Role, int], leaves: dict[Key, Interval]) -> Live:
    """What is live in all rows, strip by strip: kept is only what there is of each row."""
    count = counts(side, size)
    columns, left = count[side.inner], count[side.outer]
    made = []
    for strip in strips(side, size):
        need = _stacked(side, strip, leaves)
        made.append(_live(need, need.shape[1], columns, np))
        left -= need.shape[1]
    sticking_out = np.zeros((len(side.accumulators), 0, 0))
    made.append(_live(sticking_out, left, columns, np))
    bounds, needs = ([getattr(each, name) for each in made] for name in ("bounds", "needs"))
    return Live(np.concatenate(bounds, 1), np.concatenate(needs, 1))


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
    usual = _usual(side)
    masks = [key for key in usual if _may_mask(key)]

    def left_out(leaves: dict[Key, Interval]) -> int:
        return sum(int(_dead(each).sum()) for each in _in_strips(side, size, leaves))

    counted = [(left_out(leaves), leaves) for leaves in _hiding(usual, masks)]
    most, hiding = max(counted, key=operator.itemgetter(0))
    if not most:
        return None
    left = [key for key in usual if key not in masks]
    needed = masks + [key for key in left if left_out({**hiding, key: UNKNOWN}) < most]
    finite = {key: _finite(key) if key in needed else UNKNOWN for key in usual}
    is_known = not masks and _are_as_dead(side, size, finite, usual)
    live = _planned(side, size, finite if is_known else usual)
    lengths = live.bounds[1] - live.bounds[0]
    return Watch(
        side,
        size,
        tuple(needed),
        left_out=left_out(usual) if masks else most,
        known=live if is_known else None,
        is_last_longest=bool(lengths[-1] > lengths[0]),
    )


def _are_as_dead(
    side: Pass, size: dict[Role, int], one: dict[Key, Interval], other: dict[Key, Interval]
) -> bool:
    """May the same tiles be left out?"""
    pairs = zip(_in_strips(side, size, one), _in_strips(side, size, other), strict=True)
    return all(np.array_equal(_dead(a), _dead(b)) for a, b in pairs)


def _usual(side: Pass) -> dict[Key, Interval]:
    return {key: usual_interval(key) for key in side.recipe.leaves}


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


def strips(side: Pass, size: Mapping[Role, int]) -> Iterator[Blocks]:
    """The tiles that do not stick out, some rows of them at once."""
    return full_tiles(side, size).strips(side.outer)


def _in_strips(
    side: Pass, size: dict[Role, int], leaves: dict[Key, Interval]
) -> Iterator[np.ndarray[Any, Any]]:
    return (_stacked(side, strip, leaves) for strip in strips(side, size))


def _stacked(side: Pass, strip: Blocks, leaves: dict[Key, Interval]) -> Any:
    """(accumulators, rows, columns) what these must exceed so that a tile changes nothing."""
    return np.stack(_needs(side, strip, leaves, np))


def _dead(needs: Any) -> Any:
    """(rows, columns) which tiles may be left out."""
    return (needs < FAR).all(0)


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
