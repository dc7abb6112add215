"""Elements picked by index, as out of the logits of a vocabulary: each is in one tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import Spec, axis_roles
from orchestrator_core.conductor.facts.transfer.indexing import clips, widened
from orchestrator_core.conductor.tile.accumulators.base import (
    NEVER,
    AllOrNothing,
    IntervalOf,
    Tiles,
)
from orchestrator_core.conductor.tile.recipe import Wanted, key_of
from orchestrator_core.conductor.tile.region import Boundary


@dataclass(frozen=True)
class Picked(AllOrNothing):
    """The sum of what is found in the tiles; elsewhere a tile has zero."""

    boundary: Boundary

    @property
    def spec(self) -> Spec:
        return self.boundary.out

    @property
    def dtype(self) -> Any:
        return self.boundary.node.output.dtype

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        return tuple(map(key_of, self.boundary.node.inputs, self.boundary.inputs))

    @property
    def start(self) -> Any:
        return 0

    def added(self, old: Any, tiles: Tiles) -> Any:
        node = self.boundary.node
        operand, indices = (tiles[each] for each in self.wanted)
        indices = widened(indices)
        numbers = node.params["dimension_numbers"]
        inside, local = jnp.bool_(True), []
        for column, axis in enumerate(numbers.start_index_map):
            at, first = self._local(indices[..., column], axis, tiles), self._first(axis, tiles)
            inside = inside & (at >= first) & (at < operand.shape[axis])
            local.append(jnp.clip(at, 0, operand.shape[axis] - 1))
        picked = lax.gather(
            operand,
            jnp.stack(local, -1),
            numbers,
            slice_sizes=node.params["slice_sizes"],
            mode=lax.GatherScatterMode.CLIP,
        )
        return jnp.where(inside, picked.astype(old.dtype), old)

    def _local(self, at: Any, axis: int, tiles: Tiles) -> Any:
        """Where it is in this tile."""
        if clips(self.boundary.node):
            at = jnp.clip(at, 0, self.boundary.node.inputs[0].shape[axis] - 1)
        for _, role in self.boundary.inputs[0][axis]:
            if role is not None:
                at = at - jnp.asarray(tiles.place.offset[role], at.dtype)
        return at

    def _first(self, axis: int, tiles: Tiles) -> Any:
        """Of the elements that belong to this tile."""
        found = axis_roles(self.boundary.inputs[0][axis])
        return sum(tiles.place.stale.get(role, 0) for role in found)

    def need(self, interval: IntervalOf) -> Any:
        return NEVER
