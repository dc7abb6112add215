"""The unit of times: the largest time of which all are multiples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

NOISE = 1e-12
"""Relative difference that is taken for floating-point noise: 0.1 + 0.2 is 0.3."""

_DENOMINATORS = (
    *(10**k for k in range(10)),
    *(2**k for k in range(1, 21)),
    *(3, 6, 7, 9, 11, 12, 13, 15, 24, 30, 36, 60, 360, 3600),
)


def common_unit(times: ArrayLike) -> Fraction | None:
    """The largest time of which all `times` (> 0) are multiples, if it is a plain fraction."""
    values = np.asarray(times, dtype=np.float64)
    if len(values) == 0:
        return Fraction(1)
    for denominator in _DENOMINATORS:
        with np.errstate(over="ignore"):  # no unit then
            scaled = values * denominator
        whole = np.rint(scaled)
        if whole.max() < 2**53 and bool((np.abs(scaled - whole) <= NOISE * scaled).all()):
            return Fraction(int(np.gcd.reduce(whole.astype(np.int64))), denominator)
    return None


def near(value: float, whole: int) -> bool:
    """Is the value a whole number, up to floating-point noise?"""
    return abs(value - whole) <= NOISE * abs(value)
