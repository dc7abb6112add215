"""Masks by other means, masks over masks, and numbers that a mask hides too late."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.case import Case, family, normal
from tests.conductor.corpus.near_misses.given import N, causal, lower, scores, three

LOWEST = float(np.finfo(np.float32).min)


def padded(s: Array) -> Array:
    """Which keys there are; the last nine are padding."""
    return jnp.broadcast_to(jnp.arange(s.shape[-1]) < N - 9, s.shape)


def _twice(fill: float):
    """Both masks are added, so hidden pairs may have the fill twice."""

    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        s = s + jnp.where(lower(s), 0.0, fill) + jnp.where(padded(s), 0.0, fill)
        return jax.nn.softmax(s) @ v

    return function


def _minus_nothing(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(s + jnp.where(lower(s), -0.0, -jnp.inf)) @ v


def _integers_times(q: Array, k: Array, v: Array) -> Array:
    e = jnp.exp(scores(q, k)) * lower(q @ k.T).astype(jnp.int32)
    return e @ v / e.sum(-1, keepdims=True)


def _times_and_less(fill: float):
    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        m = lower(s).astype(s.dtype)
        return jax.nn.softmax(s * m - fill * (1 - m)) @ v

    return function


def _rows_mended(fill: float):
    """Queries that are padding see nothing; what they give is dropped afterwards."""

    def function(q: Array, k: Array, v: Array) -> Array:
        s = scores(q, k)
        here = (jnp.arange(N) < N - 9)[:, None]
        out = jax.nn.softmax(jnp.where(here & lower(s), s, fill)) @ v
        return jnp.where(here, out, 0.0)

    return function


def _not_numbers_mended(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    i = jnp.arange(N)[:, None]
    p = jax.nn.softmax(jnp.where(lower(s) & (i % 7 != 3), s, -jnp.inf))
    return jnp.nan_to_num(p) @ v


def _logarithm_masked_late(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jnp.where(s > 0, jnp.log(s), 0.0) @ v


def _logarithm_masked_early(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jnp.where(s > 0, jnp.log(jnp.where(s > 0, s, 1.0)), 0.0) @ v


def _largest_of_masked(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    most = jnp.max(s, -1, keepdims=True, where=lower(s), initial=-1.0)
    e = jnp.where(lower(s), jnp.exp(s - most), 0.0)
    return e @ v / e.sum(-1, keepdims=True)


def _smallest_as_fill(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(jnp.where(lower(s), s, s.min(-1, keepdims=True))) @ v


def _capped_twice(q: Array, k: Array, v: Array) -> Array:
    s = causal(5 * jnp.tanh(scores(q, k) / 5), -100.0)
    return jax.nn.softmax(7 * jnp.tanh(s / 7)) @ v


def _mask_of_weights_again(q: Array, k: Array, v: Array) -> Array:
    p = jax.nn.softmax(scores(q, k))
    p = jnp.where(lower(p), p, 0.0)
    return jax.nn.softmax(jnp.where(p > 0, jnp.log(p + 1e-9), -1e9)) @ v


def _hidden(which: int, value: float):
    """One bad number where the mask hides it, beside a zero of the other factor."""

    def arguments() -> tuple[Any, ...]:
        made = three()
        made[1 - which][::5, 2] = 0.0
        made[which][-1 if which else 0, 2] = value
        return made

    return arguments


def _filled(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k), -1e30)) @ v


def _strictly_lower(q: Array, k: Array, v: Array) -> Array:
    s = jnp.where(jnp.arange(N)[:, None] > jnp.arange(N), scores(q, k), -1e30)
    return jnp.where(jnp.arange(N)[:, None] > 0, jax.nn.softmax(s) @ v, 0.0)


def four(*shape: int):
    """q, k, v and a bias of a shape."""

    def arguments() -> tuple[Any, ...]:
        return (*three(), normal(*shape, seed=3))

    return arguments


def _biased(q: Array, k: Array, v: Array, b: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k) + b)) @ v


def _weighed(q: Array, k: Array, v: Array, b: Array) -> Array:
    """A mask of numbers, which has a derivative."""
    return (jax.nn.softmax(scores(q, k)) * b) @ v


def _differences(q: Array, k: Array, v: Array, b: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k) + b[:, None] * 2 - b)) @ v


def _hot(q: Array, k: Array, v: Array, b: Array) -> Array:
    """One temperature for each row, some of them zero."""
    return jax.nn.softmax(causal(scores(q, k) / jnp.maximum(b, 0.0)[:, None], -jnp.inf)) @ v


MASKS = [
    *family(
        "mask",
        {
            "-1e9 twice": _twice(-1e9),
            "the lowest twice": _twice(LOWEST),
            "-3e38 twice": _twice(-3e38),
            "minus nothing": _minus_nothing,
            "integers after": _integers_times,
            "multiplied and 1e9 less": _times_and_less(1e9),
            "multiplied and 1e30 less": _times_and_less(1e30),
            "rows dropped afterwards, -1e9": _rows_mended(-1e9),
            "rows dropped afterwards, -inf": _rows_mended(-np.inf),
            "no numbers made zero": _not_numbers_mended,
            "logarithm masked late": _logarithm_masked_late,
            "logarithm masked early": _logarithm_masked_early,
            "largest of the masked": _largest_of_masked,
            "smallest as fill": _smallest_as_fill,
            "capped twice": _capped_twice,
            "weights masked and again": _mask_of_weights_again,
            "strictly lower": _strictly_lower,
        },
        three,
    ),
    *(
        Case(f"mask: {name} hides {value:g} in {'qk'[which]}", function, _hidden(which, value))
        for name, function in {"-1e30": _filled, "strictly lower": _strictly_lower}.items()
        for which, value in ((1, np.inf), (1, np.nan), (0, np.inf))
    ),
    Case("mask: gradient of a bias", _biased, four(N, N), moving=(0, 1, 2, 3)),
    Case("mask: gradient of a bias of rows", _biased, four(N, 1), moving=(0, 1, 2, 3)),
    Case("mask: gradient of a bias of keys", _biased, four(N), moving=(0, 1, 2, 3)),
    Case("mask: gradient of a mask", _weighed, four(N, N), moving=(0, 1, 2, 3)),
    Case("mask: gradient of a mask of keys", _weighed, four(N), moving=(0, 1, 2, 3)),
    Case("mask: gradient of differences", _differences, four(N), moving=(0, 1, 2, 3)),
    Case("mask: temperatures, some zero", _hot, four(N), moving=(0, 1, 2, 3)),
]
"""Of q, k and v [N, D], some of a bias as well."""
