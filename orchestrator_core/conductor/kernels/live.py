"""Which tiles of a row a kernel visits: those between the first and the last that may matter.

What lies outside is thought to change nothing. The proof needs what has been accumulated, so it is
the kernel that completes it, and visits the others if it cannot; see `tile.skip`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import ROLES, Role, roles
from orchestrator_core.conductor.facts.intervals import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.interval import is_real
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.price import USUAL, usual_interval
from orchestrator_core.conductor.tile.recipe import Key, Wanted
from orchestrator_core.conductor.tile.skip import (
    Blocks,
    interval_of_leaf,
    interval_of_literal,
    intervals,
    may_skip,
)

FAR = -USUAL
"""A tile is thought to change nothing if what its accumulators must exceed is below this."""


@dataclass(frozen=True)
class Live:
    """Attributes:
    bounds: (2, rows) the first tile of a row that may matter, and the one after the last.
    needs: (accumulators, rows) what they must exceed so that all others change nothing.
    holds: (1,) 0 if all others may matter anyway, else 1; None if that is never so.
    """

    bounds: Any
    needs: Any
    holds: Any = None

    @property
    def arrays(self) -> list[Any]:
        return [self.bounds, self.needs] + ([] if self.holds is None else [self.holds])


@dataclass(frozen=True)
class Watch:
    """Attributes:
    side: whose tiles. size: of them. leaves: those whose numbers the proofs need.
    part: of the tiles, that may be left out by positions alone.
    known: what is live where all these numbers are finite; None if that depends on more of them.
    is_last_longest: does the last row visit more tiles than the first, by positions alone?
    """

    side: Pass
    size: dict[Role, int]
    leaves: tuple[Key, ...]
    part: float
    known: Live | None
    is_last_longest: bool

    def live(self, values: Mapping[Value, Any]) -> Live:
        """At run time, from the whole arrays of the leaves."""
        if self.known is None:
            blocks = _full(self.side, self.size)
            leaves = dict.fromkeys(self.side.recipe.leaves, UNKNOWN)
            for key in self.leaves:
                leaves[key] = interval_of_leaf(self.side, blocks, key, values[key[0]])
            return _live(self.side, self.size, leaves, jnp)
        # One number decides, since kernels that find out more would take longer than they spare.
        finite = [jnp.isfinite(values[value]).all() for value, _ in self.leaves]
        holds = functools.reduce(jnp.logical_and, finite) if finite else None
        holds = holds if holds is None else jnp.reshape(holds, 1).astype(np.int32)
        return dataclasses.replace(self.known, holds=holds)


def _live(side: Pass, size: dict[Role, int], leaves: dict[Key, Interval], space: Any) -> Live:
    count = counts(side, size)
    rows, columns = count[side.outer], count[side.inner]
    need = space.stack(_needs(side, _full(side, size), leaves, space))
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
    blocks = _full(side, size)
    if not may_skip(side) or not all(blocks.count.values()):
        return None
    usual = {key: usual_interval(key) for key in side.recipe.leaves}
    dead = _dead(side, blocks, usual)
    needed = [key for key in usual if _may_mask(key)]
    is_known = not needed
    if not dead and is_known:
        return None
    for key in usual:
        if key not in needed and _dead(side, blocks, {**usual, key: UNKNOWN}) < dead:
            needed.append(key)
    finite = {key: _finite(key) if key in needed else UNKNOWN for key in usual}
    is_known = is_known and _dead(side, blocks, finite) == dead
    known = _live(side, size, finite if is_known else usual, np)
    lengths = known.bounds[1] - known.bounds[0]
    count = counts(side, size)
    return Watch(
        side,
        size,
        tuple(needed),
        dead / (count["i"] * count["j"]),
        known if is_known else None,
        bool(lengths[-1] > lengths[0]),
    )


def _finite(key: Key) -> Interval:
    """Of a leaf of real numbers that are finite."""
    if not jnp.issubdtype(key[0].dtype, jnp.floating):
        return UNKNOWN
    info: Any = jnp.finfo(key[0].dtype)  # type: ignore[no-untyped-call]
    most = float(info.max)
    return Interval(np.asarray(-most), np.asarray(most), np.bool_(True))


def _full(side: Pass, size: Mapping[Role, int]) -> Blocks:
    """The tiles that do not stick out."""
    count = {role: side.length[role] // size[role] for role in ROLES}
    return Blocks(dict.fromkeys(ROLES, 0), count, dict(size))


def _dead(side: Pass, blocks: Blocks, leaves: dict[Key, Interval]) -> int:
    """How many tiles may be left out."""
    found = [need < FAR for need in _needs(side, blocks, leaves, np)]
    return int(np.stack(found).all(0).sum())


def _needs(side: Pass, blocks: Blocks, leaves: dict[Key, Interval], space: Any) -> list[Any]:
    """(rows, columns) for each accumulator: what it must exceed so that a tile changes nothing."""
    known = intervals(side.recipe, blocks, side.outer, leaves)

    def interval(wanted: Wanted) -> Interval:
        return interval_of_literal(wanted) if isinstance(wanted, Literal) else known[wanted]

    shape = (blocks.count[side.outer], blocks.count[side.inner])
    return [space.broadcast_to(each.need(interval), shape) for each in side.accumulators]


def _may_mask(key: Key) -> bool:
    """Truth values and whole numbers, and what has both roles."""
    value, spec = key
    is_number = bool(jnp.issubdtype(value.dtype, jnp.floating))
    return is_real(value.dtype) and bool(roles(spec)) and (not is_number or len(roles(spec)) == 2)
