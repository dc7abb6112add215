"""The inner loop of a pass: over the tiles of a row, or those of them that may change something."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.tile.blocks import Segment
from orchestrator_core.conductor.tile.cut_ahead import Cuts, by_key, cut, loop
from orchestrator_core.conductor.tile.row import Row, State


@dataclass(frozen=True)
class Inner:
    """The tiles of one size in a row.

    Attributes:
        order: for each row, in which they are visited; None: as they are, and all of them.
        needs: of each number that a row has, each row, and each tile in this order: what the number
            must exceed so that this tile and all after it change nothing.
    """

    tiles: Segment
    order: Any
    needs: Any

    def __call__(self, row: Row, k: Any, now: State) -> State:
        """Of row `k` of all."""
        if self.order is None:
            mine, step = functools.partial(self._cut, row), functools.partial(self._with, row)
            return loop(self.tiles.count, mine, step, now)
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

    def _cut(self, row: Row, n: Any) -> Cuts:
        place = row.place(self.tiles.start(n), self.tiles.size)
        return cut(row.one, row.one.inner, row.whole, place)

    def _with(self, row: Row, n: Any, cuts: Cuts, now: State) -> State:
        # Most tiles have no stale elements. To leave out none of them costs less than to ask: in a
        # branch XLA computes with one thread what it computes with all of them elsewhere.
        role = row.one.inner
        stale = {**row.stale, **row.stale_in(role, self.tiles, n)}
        place = row.place(self.tiles.start(n), self.tiles.size, stale)
        return row.with_tile(place, now, by_key(row.one, role, cuts))
