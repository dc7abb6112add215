"""Sizes of tiles that leave no rest."""

from __future__ import annotations


def even(length: int, most: int) -> int:
    """The largest divisor of a length, if it is not much less than the most that is wanted."""
    fit = [size for size in range(max(most // 4, 1), most + 1) if length % size == 0]
    return fit[-1] if fit else most
