"""Sums along diagonals, as gradients of what there is for each distance between positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.tile.accumulators.base import (
    AllOrNothing,
    IntervalOf,
    Tiles,
    always_if,
    summing_type,
)
from orchestrator_core.conductor.tile.accumulators.reduced import all_of, any_of, fresh
from orchestrator_core.conductor.tile.recipe import Wanted, key_of
from orchestrator_core.conductor.tile.region import Boundary
from orchestrator_core.conductor.tile.skews.products import with_diagonals


@dataclass(frozen=True)
class AlongDiagonals(AllOrNothing):
    """What the tiles add, each to as many as it has."""

    boundary: Boundary

    @property
    def spec(self) -> Spec:
        return self.boundary.out

    @property
    def dtype(self) -> Any:
        return summing_type(self.boundary.node.output.dtype)

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        return tuple(map(key_of, self.boundary.node.inputs, self.boundary.inputs))

    @property
    def start(self) -> Any:
        return 0

    def added(self, old: Any, tiles: Tiles) -> Any:
        node = self.boundary.node
        spec = self.boundary.inputs[node.params["side"]]
        operands = fresh(self.boundary, [tiles[each] for each in self.wanted], tiles, self.start)
        return with_diagonals(node, old, operands, spec, tiles.place)

    def need(self, interval: IntervalOf) -> Any:
        found = [interval(each) for each in self.wanted]
        finite = all_of(each.is_finite for each in found)
        return always_if(finite & any_of(each.is_zero for each in found))
