"""Accumulators: the results of a pass, to which every tile adds its part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Spec
from orchestrator_core.conductor.facts.intervals import Interval
from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.ir.value import Literal
from orchestrator_core.conductor.tile.recipe import Key, Wanted

Shifts = Mapping[Any, tuple[Any, Any]]
"""By the key of an exponent: what is subtracted from it now, and by how much what was summed before
must be scaled for that."""


@dataclass(frozen=True)
class Tiles:
    """All tiles at one place.

    Attributes:
        known: by key. place: of the tile. shifts: of exponents.
        overlaps: may it have elements of the tile before it, if it is the last of an axis?
    """

    known: Mapping[Key, Any]
    place: Tile
    shifts: Shifts
    overlaps: bool = False

    def __getitem__(self, wanted: Wanted) -> Any:
        """The tile of a value, with all its axes even if it is a scalar."""
        return wanted.value if isinstance(wanted, Literal) else self.known[wanted]


IntervalOf = Callable[[Wanted], Interval]

NEVER = np.inf
"""What no accumulator reaches."""

ALWAYS = -np.inf
"""What every one exceeds."""


class Accumulator(Protocol):
    """What a pass accumulates. A tile changes nothing if `need` of it is below `have`."""

    @property
    def spec(self) -> Spec:
        """Of what is accumulated."""
        ...

    @property
    def dtype(self) -> Any: ...

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The tiles that are needed."""
        ...

    @property
    def start(self) -> Any:
        """The number that all elements are at first."""
        ...

    def added(self, old: Any, tiles: Tiles) -> Any:
        """With one more tile."""
        ...

    def need(self, interval: IntervalOf) -> Any:
        """For each tile, the number that `have` must exceed, so that it provably adds nothing."""
        ...

    @property
    def is_watched(self) -> bool:
        """Does it take what is accumulated so far to know whether a tile changes nothing?"""
        ...

    def have(self, now: Any) -> Any:
        """A number about what is accumulated so far; 0 if that does not matter."""
        ...


class AllOrNothing:
    """Of accumulators that a tile changes or not whatever they are: the need is `ALWAYS` or
    `NEVER`."""

    is_watched = False

    def have(self, now: Any) -> Any:
        return 0.0


def summing_type(dtype: Any) -> Any:
    """In which sums of numbers of a type are kept: at least 32 bits."""
    is_number = jnp.issubdtype(dtype, jnp.floating)
    return jnp.promote_types(dtype, jnp.float32) if is_number else np.dtype(dtype)


def always_if(condition: Any) -> Any:
    return xp.where(condition, ALWAYS, NEVER)
