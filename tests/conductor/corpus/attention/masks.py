"""What is done to the scores before the softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tests.conductor.corpus.attention.layouts import B, H
from tests.conductor.corpus.case import normal

Place = Callable[[Array], Array]


@dataclass(frozen=True)
class Mask:
    """Attributes:
    apply: of the scores; of what brings [1 or B, 1 or H, S, T] to their axes; of S and T; and of
        `arrays`, which are further arguments, those in `moving` to be differentiated by.
    is_shared: is it the same for all of the batch and all heads?
    """

    name: str
    apply: Callable[..., Array]
    arrays: Callable[[int, int], tuple[Any, ...]] = lambda s, t: ()
    moving: tuple[int, ...] = ()
    is_shared: bool = True


def rows(s: int) -> Array:
    return jnp.arange(s)[None, None, :, None]


def columns(t: int) -> Array:
    return jnp.arange(t)[None, None, None, :]


def kept(name: str, where: Callable[[Array, Array], Array], fill: float = -1e9) -> Mask:
    """A mask by the numbers of query and key."""

    def apply(x: Array, place: Place, s: int, t: int) -> Array:
        return jnp.where(place(where(rows(s), columns(t))), x, fill)

    return Mask(name, apply)


def added(name: str, bias: Callable[[int, int, Any], Array], is_shared: bool = True) -> Mask:
    """Something added, of S, T and the type."""

    def apply(x: Array, place: Place, s: int, t: int) -> Array:
        return x + place(bias(s, t, x.dtype))

    return Mask(name, apply, is_shared=is_shared)


def lower(s: int, t: int, dtype: Any = bool) -> Array:
    return jnp.tril(jnp.ones((s, t), dtype))[None, None]


def _gpt2(x: Array, place: Place, s: int, t: int) -> Array:
    b = place(lower(s, t, x.dtype))
    return x * b - 1e10 * (1 - b)


def _capped(x: Array, cap: float) -> Array:
    return cap * jnp.tanh(x / cap)


def _of_table(x: Array, place: Place, s: int, t: int, table: Array) -> Array:
    """A learned number for each distance and head."""
    distance = jnp.arange(s)[:, None] - jnp.arange(t)[None] + t - 1
    return x + place(jnp.moveaxis(table[distance], -1, 0)[None])


def _buckets(s: int, t: int) -> Array:
    """T5: exact for small distances, logarithmic for larger ones."""
    far = jnp.maximum(jnp.arange(s)[:, None] - jnp.arange(t)[None], 0)
    large = 8 + (jnp.log(jnp.maximum(far, 1) / 8.0) / np.log(16.0) * 8).astype(jnp.int32)
    return jnp.where(far < 8, far, jnp.minimum(large, 15))


def _t5(x: Array, place: Place, s: int, t: int, table: Array) -> Array:
    return x + place(jnp.moveaxis(jnp.take(table, _buckets(s, t), axis=0), -1, 0)[None])


def _documents(x: Array, place: Place, s: int, t: int, ids: Array) -> Array:
    same = ids[:, None, :s, None] == ids[:, None, None, :t]
    return jnp.where(place(same & (rows(s) >= columns(t))), x, -1e9)


def _ids(s: int, t: int) -> tuple[Any, ...]:
    return (np.sort(np.random.default_rng(1).integers(0, 3, (B, max(s, t))), axis=1),)


def _lengths(x: Array, place: Place, s: int, t: int, lengths: Array) -> Array:
    return jnp.where(place(columns(t) < lengths[:, None, None, None]), x, -jnp.inf)


def _padded(x: Array, place: Place, s: int, t: int, is_there: Array) -> Array:
    return jnp.where(place(is_there[:, None, None, :]), x, jnp.finfo(x.dtype).min)


def _places(x: Array, place: Place, s: int, t: int, at: Array) -> Array:
    """Nearer in space weighs more."""
    apart = at[:, :s, None] - at[:, None, :t]
    return x - place((apart * apart)[:, None])


def alibi(s: int, t: int, dtype: Any) -> Array:
    slopes = 2.0 ** -jnp.arange(1, H + 1, dtype=dtype)
    return -slopes[None, :, None, None] * jnp.abs(rows(s) - columns(t))


def _minus_infinity_above(s: int, t: int, dtype: Any) -> Array:
    return jnp.triu(jnp.full((s, t), -jnp.inf, dtype), 1)[None, None]


def _window(i: Array, j: Array) -> Array:
    return (i >= j) & (i - j < 16)


def _selected(x: Array, place: Place, s: int, t: int) -> Array:
    i = lax.broadcasted_iota(jnp.int32, (1, 1, s, t), 2)
    j = lax.broadcasted_iota(jnp.int32, (1, 1, s, t), 3)
    where = jnp.broadcast_to(place(i >= j), x.shape)
    return lax.select(where, x, jnp.full_like(x, -1e30))


MASKS = [
    Mask("no mask", lambda x, place, s, t: x),
    Mask("tril, where", lambda x, place, s, t: jnp.where(place(lower(s, t)), x, -1e9)),
    Mask(
        "tril, lowest number",
        lambda x, place, s, t: jnp.where(place(lower(s, t)), x, jnp.finfo(x.dtype).min),
    ),
    kept("arange, -inf", lambda i, j: i >= j, -np.inf),
    Mask("iota, select", _selected),
    Mask(
        "NumPy constant",
        lambda x, place, s, t: jnp.where(place(np.tri(s, t, dtype=bool)[None, None]), x, -1e9),
    ),
    added("(1 - tril) * -1e10", lambda s, t, dtype: (1 - lower(s, t, dtype)) * -1e10),
    added("triu of -inf", _minus_infinity_above),
    Mask("GPT-2: w * b - 1e10 * (1 - b)", _gpt2),
    kept("aligned at the end", lambda i, j: i + j.size - i.size >= j),
    kept("window", _window),
    kept("window to both sides", lambda i, j: jnp.abs(i - j) <= 9, -np.inf),
    kept("every fourth", lambda i, j: (i >= j) & ((i - j) % 4 == 0)),
    kept("window and global keys", lambda i, j: (jnp.abs(i - j) < 9) | (i < 4) | (j < 4)),
    kept("prefix", lambda i, j: (j < 20) | (i >= j)),
    kept("blocks", lambda i, j: i // 16 >= j // 16),
    Mask(
        "two masks, one after the other",
        lambda x, place, s, t: jnp.where(
            place(columns(t) < t - 5), jnp.where(place(lower(s, t)), x, -1e9), -1e9
        ),
    ),
    Mask(
        "lengths",
        _lengths,
        lambda s, t: (np.array([t // 2, t]),),
        is_shared=False,
    ),
    Mask(
        "padding",
        _padded,
        lambda s, t: (np.arange(t)[None] < np.array([[t - 9], [t]]),),
        is_shared=False,
    ),
    Mask("documents", _documents, _ids, is_shared=False),
    Mask(
        "additive mask as an argument",
        lambda x, place, s, t, mask: x + place(mask),
        lambda s, t: (np.where(np.tri(s, t), 0, -1e9).astype(np.float32)[None, None],),
    ),
    Mask(
        "bias as an argument",
        lambda x, place, s, t, bias: x + place(bias),
        lambda s, t: (normal(1, H, s, t, seed=7),),
        moving=(0,),
        is_shared=False,
    ),
    Mask(
        "table of distances",
        _of_table,
        lambda s, t: (normal(s + t - 1, H, seed=8),),
        moving=(0,),
        is_shared=False,
    ),
    Mask(
        "T5 buckets",
        _t5,
        lambda s, t: (normal(16, H, seed=9),),
        moving=(0,),
        is_shared=False,
    ),
    Mask(
        "places",
        _places,
        lambda s, t: (normal(B, max(s, t), seed=10),),
        moving=(0,),
        is_shared=False,
    ),
    added("ALiBi", alibi, is_shared=False),
    Mask(
        "ALiBi and tril",
        lambda x, place, s, t: jnp.where(place(lower(s, t)), x + place(alibi(s, t, x.dtype)), -1e9),
        is_shared=False,
    ),
    Mask("softcap", lambda x, place, s, t: _capped(x, 5.0)),
    Mask(
        "softcap and window",
        lambda x, place, s, t: jnp.where(
            place(_window(rows(s), columns(t))), _capped(x, 30.0), -1e30
        ),
    ),
]
