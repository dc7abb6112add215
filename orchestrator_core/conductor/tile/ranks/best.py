"""The best so far: pairs of a key and a place, the better one first.

A place is kept as its complement, so that of two pairs the larger is the better one: of equal
numbers that which stands first, whatever tile was visited first.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.tile.ranks.order import key_type, keys_of, numbers_of, widened


def best_of(numbers: Any, axis: int, k: int, first: Any, again: Any = None) -> Any:
    """The k largest along an axis, or all if there are fewer.

    Args:
        first: where the first element of the axis stands.
        again: how many of the first elements were in another tile, and do not count here; None if
            none were.

    Returns:
        Of the other axes, and then (k or fewer, 2).
    """
    if k == 1:
        return _best_one(numbers, axis, first)
    rows = widened(jnp.moveaxis(numbers, axis, -1))
    if again is not None:
        least = numbers_of(jnp.full((), np.iinfo(key_type(rows.dtype)).min), rows.dtype)
        rows = jnp.where(lax.iota(np.int32, rows.shape[-1]) < again, least, rows)
    values, at = lax.top_k(rows, min(k, rows.shape[-1]))
    keys = keys_of(values)
    return jnp.stack([keys, ~_counted(at, first, keys.dtype)], -1)


def _best_one(numbers: Any, axis: int, first: Any) -> Any:
    """By two reductions, which compilers make wide operations of; of pairs they do not."""
    keys = keys_of(numbers)
    best = keys.max(axis, keepdims=True)
    at = ~_counted(lax.broadcasted_iota(keys.dtype, keys.shape, axis), first, keys.dtype)
    places = jnp.where(keys == best, at, np.iinfo(keys.dtype).min).max(axis)
    return jnp.stack([best.squeeze(axis), places], -1)[..., None, :]


def _counted(at: Any, first: Any, dtype: Any) -> Any:
    return at.astype(dtype) + jnp.asarray(first, dtype)


def merged(old: Any, new: Any) -> Any:
    """As many of the best of both as there are in `old`, the better one first, as both are.

    By Batcher's bitonic merge ("Sorting networks and their applications", 1968): of two lists, of
    which one is turned round, the better of each two are the best, and log2 k rounds of exchanges
    put them in order.
    """
    k = old.shape[-2]
    half = 1 << (k - 1).bit_length()
    best, _ = _ordered(_filled(old, half), _filled(new, half)[..., ::-1, :])
    while half := half // 2:
        pairs = best.reshape(*best.shape[:-2], -1, 2, half, 2)
        both = _ordered(pairs[..., 0, :, :], pairs[..., 1, :, :])
        best = jnp.stack(both, -3).reshape(best.shape)
    return best[..., :k, :]


def _filled(pairs: Any, count: int) -> Any:
    """So many of them: those that are added are worse than any other."""
    widths = [(0, 0)] * (pairs.ndim - 2) + [(0, count - pairs.shape[-2]), (0, 0)]
    return jnp.pad(pairs, widths, constant_values=np.iinfo(pairs.dtype).min)


def _ordered(one: Any, other: Any) -> tuple[Any, Any]:
    """Of each two pairs the better one, and the other."""
    are_better = (other[..., 0] > one[..., 0]) | (
        (other[..., 0] == one[..., 0]) & (other[..., 1] > one[..., 1])
    )
    swap = are_better[..., None]
    return jnp.where(swap, other, one), jnp.where(swap, one, other)
