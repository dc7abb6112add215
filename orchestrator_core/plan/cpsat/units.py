"""Amounts (bytes, devices, licences) as integers for CP-SAT."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST_UNITS = 10**7
"""Units in the largest capacity: times the longest horizon it stays far from 64 bits."""

_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 10, 16, 100, 1000, 10**6)
_NOISE = 1e-12


def whole_units(demands: Sequence[float], capacity: float) -> tuple[list[int], int]:
    """Integer demands and capacity that allow whatever the given ones (>= 0) allow.

    Exact where the demands are multiples of a common unit. Otherwise both sides are rounded down,
    which is a relaxation: ``sum(d) <= c`` implies ``sum(floor(d)) <= floor(c)``. What is far more
    than there is counts as a little more than twice of it, whatever it is: a capacity may be 0, and
    solvers' numbers have 64 bits.
    """
    unit = _common_unit([d for d in demands if d > 0], capacity)
    if unit is not None:
        limit = math.floor(capacity / unit * (1 + _NOISE))
        return [min(round(d / unit), 2 * limit + 1) for d in demands], limit
    return [_rounded_down(d, capacity) for d in demands], MOST_UNITS


def _rounded_down(demand: float, capacity: float) -> int:
    if demand > 2 * capacity:
        return 2 * MOST_UNITS + 1
    return math.floor(demand / capacity * MOST_UNITS * (1 - _NOISE)) if demand > 0 else 0


def _common_unit(demands: list[float], capacity: float) -> float | None:
    """The largest unit of which all demands are multiples, unless the capacity has too many."""
    if not demands:
        return max(capacity, 1.0)
    for denominator in _DENOMINATORS:
        scaled = [d * denominator for d in demands]
        whole = [round(d) for d in scaled]
        if all(abs(s - k) <= _NOISE * s for s, k in zip(scaled, whole, strict=True)):
            unit = math.gcd(*whole) / denominator
            return unit if capacity <= unit * MOST_UNITS else None
    return None
