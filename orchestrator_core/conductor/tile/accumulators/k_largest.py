"""The k largest numbers along an axis, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Role, Spec, axis_roles, roles
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.tile.accumulators.base import NEVER, IntervalOf, Tiles
from orchestrator_core.conductor.tile.ranks.best import best_of, merged
from orchestrator_core.conductor.tile.ranks.order import comparable, numbers_of
from orchestrator_core.conductor.tile.recipe import Wanted, key_of
from orchestrator_core.conductor.tile.region import Boundary


@dataclass(frozen=True)
class KLargest:
    """The best of those of all tiles."""

    boundary: Boundary

    @property
    def spec(self) -> Spec:
        return self.boundary.out

    @property
    def row(self) -> Role | None:
        """The role along which there are rows of which several elements are kept."""
        found = roles(self.spec) if self.boundary.node.params["k"] > 1 else frozenset[Role]()
        return next(iter(found), None)

    @property
    def dtype(self) -> Any:
        return self.boundary.node.output.dtype

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        return (key_of(self.boundary.node.inputs[0], self.boundary.inputs[0]),)

    @property
    def start(self) -> Any:
        """Less than all pairs that there are."""
        return np.iinfo(self.dtype).min

    @property
    def is_least(self) -> bool:
        return bool(self.boundary.node.params["kind"] == "argmin")

    def added(self, old: Any, tiles: Tiles) -> Any:
        params, spec = self.boundary.node.params, self.boundary.inputs[0]
        (numbers,) = (tiles[each] for each in self.wanted)
        if params["kind"] != "top_k":
            numbers = comparable(numbers, self.is_least)
        (role,) = axis_roles(spec[params["axis"]])
        first, size = tiles.place.offset[role], tiles.place.size[role]
        again = -first % size if tiles.overlaps else None
        return merged(old, best_of(numbers, params["axis"], params["k"], first, again))

    def need(self, interval: IntervalOf) -> Any:
        if not self.is_watched:
            return NEVER
        found = interval(self.wanted[0])
        return xp.where(found.sound, -found.low if self.is_least else found.high, NEVER)

    @property
    def is_watched(self) -> bool:
        return not self.is_least or self.is_rounded

    def have(self, now: Any) -> Any:
        """The least of what is kept; NaN, which exceeds nothing, before there is that much."""
        if not self.is_watched:
            return 0.0
        kept = numbers_of(now[..., -1, 0], self.boundary.node.inputs[0].dtype)
        return kept.min().astype(float)

    @property
    def is_rounded(self) -> bool:
        return bool(jnp.issubdtype(self.boundary.node.inputs[0].dtype, jnp.floating))
