"""Diagonals of a tile in rows of their own, and back, by no more than cutting and padding.

A tile of ``m`` rows and ``n`` columns has ``m + n - 1`` diagonals. Rows of one element more or
less, laid end to end, begin one place later or earlier each: so an element is moved by its row's
number.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.lines.skew import Skew


def by_columns(array: Any, skew: Skew, rows: int, columns: int) -> Any:
    """Of an array of (..., rows, diagonals), the first diagonal being the first that the tile has:
    the tile of (..., rows, columns)."""
    wide, lead = rows + columns - 1, array.shape[:-2]
    if rows == 1:
        made = array
    elif skew.turn < 0:
        flat = array.reshape((*lead, rows * wide))
        cut = lax.slice_in_dim(flat, rows - 1, rows - 1 + rows * (wide - 1), axis=-1)
        made = cut.reshape((*lead, rows, wide - 1))[..., :columns]
    else:
        flat = _wider(array.reshape((*lead, rows * wide)), 0, rows)
        made = flat.reshape((*lead, rows, wide + 1))[..., :columns]
    return made if skew.step > 0 else jnp.flip(made, -1)


def by_diagonals(array: Any, skew: Skew) -> Any:
    """The other way round; zero where the tile has nothing."""
    (*lead, rows, columns), wide = array.shape, sum(array.shape[-2:]) - 1
    array = array if skew.step > 0 else jnp.flip(array, -1)
    if rows == 1:
        return array
    if skew.turn < 0:
        flat = _wider(array, 0, wide - 1 - columns).reshape((*lead, rows * (wide - 1)))
        return _wider(flat, rows - 1, 1).reshape((*lead, rows, wide))
    flat = _wider(array, 0, wide + 1 - columns).reshape((*lead, rows * (wide + 1)))
    return flat[..., : rows * wide].reshape((*lead, rows, wide))


def _wider(array: Any, low: int, high: int) -> Any:
    """With zeros before and after the elements of the last axis."""
    beside = [(0, 0, 0)] * (array.ndim - 1)
    return lax.pad(array, jnp.zeros((), array.dtype), [*beside, (low, high, 0)])
