"""The largest exponent so far, by which exponentials are scaled so that none overflows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Role, Spec, axis_roles, without
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.monotone import gone_below
from orchestrator_core.conductor.tile.accumulators.base import (
    NEVER,
    IntervalOf,
    Tiles,
    summing_type,
)
from orchestrator_core.conductor.tile.recipe import Key, Wanted


@dataclass(frozen=True)
class RunningMax:
    """Of an exponent, over one role.

    Attributes:
        exponent: the value, and how it is cut.
    """

    exponent: Key
    role: Role

    @property
    def spec(self) -> Spec:
        return without(self.exponent[1], self.role)

    @property
    def dtype(self) -> Any:
        return summing_type(self.exponent[0].dtype)

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        return (self.exponent,)

    @property
    def start(self) -> Any:
        return -np.inf

    def added(self, old: Any, tiles: Tiles) -> Any:
        spec = self.exponent[1]
        axes = [k for k, axis in enumerate(spec) if self.role in axis_roles(axis)]
        exponents = tiles.place.fresh(tiles[self.exponent], spec, {self.role}, self.start)
        new = jnp.max(exponents.astype(old.dtype), tuple(axes), keepdims=True)
        return jnp.maximum(old, new.reshape(old.shape))

    def shift(self, old: Any, new: Any) -> tuple[Any, Any]:
        """What to subtract now, and the scale of what was summed before."""
        now = subtracted(new)
        return now, jnp.exp(old - now)

    def need(self, interval: IntervalOf) -> Any:
        """So far below the maximum, an exponential is exactly zero."""
        found = interval(self.exponent)
        return xp.where(found.sound, found.high - gone_below(self.dtype), NEVER)

    @property
    def is_watched(self) -> bool:
        return True

    def have(self, now: Any) -> Any:
        return now.min().astype(float)


def subtracted(largest: Any) -> Any:
    """The largest exponent, and nothing where it is infinite: then the exponentials are zero, or
    infinite, and not NaN."""
    return jnp.where(jnp.isinf(largest), jnp.zeros_like(largest), largest)
