"""Values that are needed as a whole: each tile is written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.tile.accumulators.base import (
    AllOrNothing,
    IntervalOf,
    Tiles,
    always_if,
)
from orchestrator_core.conductor.tile.recipe import Key, Wanted


@dataclass(frozen=True)
class Stored(AllOrNothing):
    """Attributes:
    key: the value, and how it is cut.
    """

    key: Key

    @property
    def spec(self) -> Spec:
        return self.key[1]

    @property
    def dtype(self) -> Any:
        return np.dtype(self.key[0].dtype)

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        return (self.key,)

    @property
    def start(self) -> Any:
        return 0

    def added(self, old: Any, tiles: Tiles) -> Any:
        return tiles[self.key].reshape(old.shape)

    def need(self, interval: IntervalOf) -> Any:
        """Zero is there already."""
        return always_if(interval(self.key).is_zero)
