"""The denominator is a sum, but not the right one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.conductor.corpus.case import family
from tests.conductor.corpus.near_misses.given import N, causal, scores, three


def exped(q: Array, k: Array) -> Array:
    s = causal(scores(q, k))
    return jnp.exp(s - s.max(-1, keepdims=True))


def _of_transposed(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / e.T.sum(-1, keepdims=True)) @ v


def _flipped_rows(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / e.sum(-1, keepdims=True)[::-1]) @ v


def _flipped_keys(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / e[:, ::-1].sum(-1, keepdims=True)) @ v


def _of_previous_row(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / jnp.roll(e.sum(-1, keepdims=True), 1, 0)) @ v


def _of_other_scores(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / exped(k, q).sum(-1, keepdims=True)) @ v


def _of_other_shift(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (e / jnp.exp(s - s.min(-1, keepdims=True)).sum(-1, keepdims=True)) @ v


def _shift_by_transposed(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    e = jnp.exp(s - s.max(0)[:, None])
    return (e / e.sum(-1, keepdims=True)) @ v


def _shift_in_sum_only(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (jnp.exp(s) / e.sum(-1, keepdims=True)) @ v


def _before_mask(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (exped(q, k) / e.sum(-1, keepdims=True)) @ v


def _detached(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / lax.stop_gradient(e.sum(-1, keepdims=True))) @ v


def _halved(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / e[:, : N // 2].sum(-1, keepdims=True)) @ v


def _without_first_key(q: Array, k: Array, v: Array) -> Array:
    e = jnp.exp(scores(q, k))
    return (e / e[:, 1:].sum(-1, keepdims=True)) @ v


def _without_itself(q: Array, k: Array, v: Array) -> Array:
    e = jnp.exp(scores(q, k))
    return (e / (e.sum(-1) - jnp.diagonal(e))[:, None]) @ v


def _of_each(power: float):
    def function(q: Array, k: Array, v: Array) -> Array:
        e = exped(q, k)
        return (e / (e**power).sum(-1, keepdims=True)) @ v

    return function


def _divided_by(of):
    def function(q: Array, k: Array, v: Array) -> Array:
        e = exped(q, k)
        return (e / of(e)) @ v

    return function


def _cumulative(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / jnp.cumsum(e, -1)) @ v


def _weighted(q: Array, k: Array, v: Array) -> Array:
    e = exped(q, k)
    return (e / (e @ (1 + jnp.arange(N, dtype=e.dtype)))[:, None]) @ v


SUMS = family(
    "sum",
    {
        "along queries": lambda q, k, v: (e := exped(q, k)) / e.sum(0, keepdims=True) @ v,
        "along queries, not transposed back": lambda q, k, v: (
            (e := exped(q, k)) / e.sum(0)[:, None] @ v
        ),
        "along keys, along the wrong axis": lambda q, k, v: (e := exped(q, k)) / e.sum(-1) @ v,
        "of the transposed": _of_transposed,
        "flipped along queries": _flipped_rows,
        "flipped along keys": _flipped_keys,
        "of the row before": _of_previous_row,
        "of other scores": _of_other_scores,
        "shifted by the minimum": _of_other_shift,
        "shifted by the column's maximum": _shift_by_transposed,
        "alone shifted": _shift_in_sum_only,
        "before the mask": _before_mask,
        "without gradient": _detached,
        "of half the keys": _halved,
        "without the first key": _without_first_key,
        "without the diagonal": _without_itself,
        "of squares": _of_each(2.0),
        "of roots": _of_each(0.5),
        "of everything": _divided_by(lambda e: e.sum()),
        "and a little": _divided_by(lambda e: e.sum(-1, keepdims=True) + 1e-6),
        "and one": _divided_by(lambda e: e.sum(-1, keepdims=True) + 1.0),
        "not below ten": _divided_by(lambda e: jnp.maximum(e.sum(-1, keepdims=True), 10.0)),
        "as its root": _divided_by(lambda e: jnp.sqrt((e * e).sum(-1, keepdims=True))),
        "as a mean": _divided_by(lambda e: e.mean(-1, keepdims=True)),
        "as a maximum": _divided_by(lambda e: e.max(-1, keepdims=True)),
        "as a product": _divided_by(lambda e: (1 + e / N).prod(-1, keepdims=True)),
        "as a variance": _divided_by(lambda e: e.var(-1, keepdims=True) + 0.1),
        "as a median": _divided_by(lambda e: jnp.median(e, -1, keepdims=True) + 0.1),
        "twice": _divided_by(lambda e: e.sum(-1, keepdims=True) ** 2),
        "cumulative": _cumulative,
        "weighted by place": _weighted,
        "of a block of keys": _divided_by(
            lambda e: jnp.repeat(e.reshape(N, 7, 10).sum(-1), 10, axis=-1) + 1e-3
        ),
        "of both axes, one after the other": lambda q, k, v: (
            (p := (e := exped(q, k)) / e.sum(0)) / p.sum(-1, keepdims=True) @ v
        ),
        "of features": lambda q, k, v: jax.nn.softmax(q @ k.T, -1) @ (v / v.sum(-1, keepdims=True)),
        "over two axes of scores": lambda q, k, v: (
            jax.nn.softmax((q @ k.T).reshape(-1)).reshape(N, N) @ v
        ),
        "over keys and features": lambda q, k, v: (
            jax.nn.softmax(q[:, None] * k[None], axis=(1, 2)) * v[None]
        ).sum(1),
        "over features alone": lambda q, k, v: (
            jax.nn.softmax(q[:, None] * k[None], axis=2) * v[None]
        ).sum(1),
        "of absolute scores": lambda q, k, v: (
            (s := scores(q, k)) / jnp.abs(s).sum(-1, keepdims=True) @ v
        ),
        "of scores": lambda q, k, v: (s := scores(q, k)) / (3 + (s * s).sum(-1, keepdims=True)) @ v,
    },
    three,
)
"""All of q, k and v [N, D]."""
