"""Intervals, found at run time: two numbers for each of many tiles at once.

Interval arithmetic as in Moore, "Interval Analysis" (1966), rounded outwards. Truth is 1 and
falsehood 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.intervals.arrays import xp

ROUNDING = 4.0
"""Units in the last place by which one operation may be off."""

SMALL = float(np.finfo(np.float32).tiny)
"""What is smaller may be taken for zero, by what reads it and by what makes it."""

LOST = 4.0
"""How many of the smallest numbers of a type an operation may lose so."""


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
        return self.sound & (self.low > -np.inf) & (self.high < np.inf)

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
    found = Interval(number, number, ~np.isnan(number))
    return as_read(found) if 0 < abs(number) < SMALL else found


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


def as_read(given: Interval) -> Interval:
    """Of what an operation takes for numbers that are there: for zero, where they are too small."""
    low, high = (
        xp.where(xp.abs(end) < SMALL, by(end, 0.0), end)
        for end, by in ((given.low, xp.minimum), (given.high, xp.maximum))
    )
    return Interval(low, high, given.sound)


def rounded(given: Interval, dtype: Any, units: float = ROUNDING) -> Interval:
    """Wide enough for what an operation of this type makes of numbers in the interval: it rounds,
    it loses what is too small, and what is too large is infinite.

    Nothing is known where an end is NaN, or one is minus infinity and the other infinity: sums and
    products of infinities and zeros come to such ends where an element of them may be NaN.
    """
    if not jnp.issubdtype(dtype, jnp.floating):
        return given
    info: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    low, high = (
        _beyond(end + way * _off(end, info, units), way * float(info.max))
        for end, way in ((given.low, -1.0), (given.high, 1.0))
    )
    return Interval(low, high, given.sound & ~xp.isnan(low + high))


def _off(end: Any, info: Any, units: float) -> Any:
    """By how much a number of this size may be off; an infinite one stays what it is."""
    size = xp.minimum(xp.abs(end), float(info.max))
    return size * (units * float(info.eps)) + LOST * float(info.tiny)


def _beyond(end: Any, most: float) -> Any:
    """Infinite where it is more than the type can hold, which ends of the same type are anyhow."""
    if isinstance(end, jax.Array) and float(jnp.finfo(end.dtype).max) <= abs(most):  # type: ignore[no-untyped-call]
        return end
    return xp.where(end > most if most > 0 else end < most, np.copysign(np.inf, most), end)


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
