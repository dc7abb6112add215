"""The best so far: pairs of a key and a place, the better one first.

A place is kept as its complement, so that of two pairs the larger is the better one: of equal
numbers that which stands first, whatever tile was visited first.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.tile.ranks.order import keys_of


def best_of(numbers: Any, axis: int, k: int, first: Any) -> Any:
    """The k largest along an axis, or all if there are fewer.

    Args:
        first: where the first element of the axis stands.

    Returns:
        Of the other axes, and then (k or fewer, 2).
    """
    if k == 1:
        return _best_one(numbers, axis, first)
    rows = jnp.moveaxis(numbers, axis, -1)
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
    """As many of the best of both as there are in `old`."""
    k = old.shape[-2]
    if k == 1:
        is_better = (new[..., 0] > old[..., 0]) | (
            (new[..., 0] == old[..., 0]) & (new[..., 1] > old[..., 1])
        )
        return jnp.where(is_better[..., None], new, old)
    both = ~jnp.concatenate([old, new], -2)
    pairs = lax.sort((both[..., 0], both[..., 1]), dimension=-1, num_keys=2)
    return ~jnp.stack([each[..., :k] for each in pairs], -1)
