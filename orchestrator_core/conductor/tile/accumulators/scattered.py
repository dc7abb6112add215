"""Elements added by index to a table, as gradients of what was picked out of one: of a number for
each distance between positions, from all pairs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import Spec, roles
from orchestrator_core.conductor.tile.accumulators.base import (
    AllOrNothing,
    IntervalOf,
    Tiles,
    always_if,
    summing_type,
)
from orchestrator_core.conductor.tile.recipe import Wanted, key_of
from orchestrator_core.conductor.tile.region import Boundary


@dataclass(frozen=True)
class Scattered(AllOrNothing):
    """What the tiles add. The table itself is added at the end."""

    boundary: Boundary

    @property
    def spec(self) -> Spec:
        return self.boundary.out

    @property
    def dtype(self) -> Any:
        return summing_type(self.boundary.node.output.dtype)

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """Indices, and what is added there."""
        _, *inputs = map(key_of, self.boundary.node.inputs, self.boundary.inputs)
        return tuple(inputs)

    @property
    def start(self) -> Any:
        return 0

    def added(self, old: Any, tiles: Tiles) -> Any:
        indices, updates = (tiles[each] for each in self.wanted)
        *_, spec = self.boundary.inputs
        updates = tiles.place.fresh(updates, spec, roles(spec), np.asarray(0, updates.dtype))
        params = self.boundary.node.params
        numbers, mode = params["dimension_numbers"], params["mode"]
        return lax.scatter_add(old, indices, updates.astype(old.dtype), numbers, mode=mode)

    def need(self, interval: IntervalOf) -> Any:
        return always_if(interval(self.wanted[1]).is_zero)
