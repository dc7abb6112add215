"""Intervals, found at run time: two numbers for each of many tiles at once.

Interval arithmetic as in Moore, "Interval Analysis" (1966), rounded outwards. Truth is 1 and
falsehood 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.intervals.arrays import xp

ROUNDING = 4.0
"""Units in the last place by which one operation may be off."""


@dataclass(frozen=True)
class Interval:
    """Attributes:
    low, high: all elements are between these, themselves included; infinite ones are elements
        like others. Arrays of any shapes that fit together, one entry for each tile.
    sound: is that so, and is no element NaN? Where this is false nothing is known.
    """

    low: Any
    high: Any
    sound: Any

    @property
    def is_finite(self) -> Any:
        return self.sound & xp.isfinite(self.low) & xp.isfinite(self.high)

    @property
    def is_zero(self) -> Any:
        """Are all elements exactly zero?"""
        return self.sound & (self.low == 0) & (self.high == 0)

    @property
    def largest(self) -> Any:
        """Of the absolute values."""
        return xp.maximum(xp.abs(self.low), xp.abs(self.high))


UNKNOWN = Interval(-np.inf, np.inf, np.bool_(False))


def exactly(value: Any) -> Interval:
    """Of a literal."""
    number = np.asarray(value).astype(float)
    return Interval(number, number, ~np.isnan(number))


def of_each(array: Any) -> Interval:
    """Of the elements of an array, each for itself."""
    if not is_real(array.dtype):
        return UNKNOWN
    if jnp.issubdtype(array.dtype, jnp.floating):
        ends = array.astype(float)
        return Interval(ends, ends, ~xp.isnan(array))
    ends = array.astype(float)
    if array.dtype == np.bool_:
        return Interval(ends, ends, np.bool_(True))
    return Interval(_inexact(ends, -1.0), _inexact(ends, 1.0), np.bool_(True))


def joined(given: Interval, axes: tuple[int, ...]) -> Interval:
    """Of all together along some axes. A NaN, which XLA's minimum may overlook, is unsound."""
    sound = jnp.asarray(given.sound)
    sound = sound.all(axes) if sound.ndim else sound
    return Interval(given.low.min(axes), given.high.max(axes), sound)


def rounded(given: Interval, dtype: Any, units: float = ROUNDING) -> Interval:
    """Wide enough for what an operation of this type makes of numbers in the interval: it rounds,
    it loses what is too small, and what is too large is infinite."""
    if not jnp.issubdtype(dtype, jnp.floating):
        return given
    info: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    low, high = _outwards(given.low, given.high, units * float(info.eps), float(info.tiny))
    most = float(info.max)
    low, high = xp.where(low < -most, -np.inf, low), xp.where(high > most, np.inf, high)
    return Interval(low, high, given.sound & ~xp.isnan(low) & ~xp.isnan(high))


def _outwards(low: Any, high: Any, relative: float, absolute: float) -> tuple[Any, Any]:
    def by(end: Any) -> Any:
        return xp.where(xp.isfinite(end), xp.abs(end) * relative + absolute, 0.0)

    return low - by(low), high + by(high)


def _inexact(end: Any, way: float) -> Any:
    """Whole numbers that are too large for the type of the ends are off by a little."""
    info: Any = np.finfo(end.dtype)
    return xp.where(xp.abs(end) * info.eps >= 1, end + way * xp.abs(end) * info.eps, end)


def is_real(dtype: Any) -> bool:
    """A number that is no complex one, or a truth value; random keys are neither."""
    if not isinstance(dtype, np.dtype):
        return False
    return bool(dtype == np.bool_ or jnp.issubdtype(dtype, jnp.floating)) or bool(
        jnp.issubdtype(dtype, jnp.integer)
    )
