"""What each block along an axis comes to: of running sums and the like, along tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax import lax

from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.tile.accumulators.base import (
    AllOrNothing,
    IntervalOf,
    Tiles,
    always_if,
)
from orchestrator_core.conductor.tile.cumulative.nodes import first_block
from orchestrator_core.conductor.tile.cumulative.running import Running
from orchestrator_core.conductor.tile.recipe import Wanted, key_of
from orchestrator_core.conductor.tile.region import Boundary


@dataclass(frozen=True)
class BlockTotals(AllOrNothing):
    """Each block lies in one tile, which writes what it comes to."""

    boundary: Boundary

    @property
    def running(self) -> Running:
        running: Running = self.boundary.node.params["running"]
        return running

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
        return self.running.neutral(self.dtype)

    def added(self, old: Any, tiles: Tiles) -> Any:
        (given,) = (tiles[each] for each in self.wanted)
        made = self.running.totals(given.astype(old.dtype))
        first = first_block(self.running, self.boundary.inputs[0], tiles.place)
        return lax.dynamic_update_slice_in_dim(old, made, first, self.running.axis)

    def need(self, interval: IntervalOf) -> Any:
        """What changes nothing is there already."""
        (given,) = (interval(each) for each in self.wanted)
        neutral = float(self.start)
        return always_if(given.sound & (given.low == neutral) & (given.high == neutral))
