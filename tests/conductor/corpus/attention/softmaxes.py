"""How scores become a weighted mean of the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

Output = Callable[[Array], Array]


@dataclass(frozen=True)
class Softmax:
    """Attributes:
    mean: of the scores, the axis of the keys, and the product of weights with values.
    """

    name: str
    mean: Callable[[Array, int, Output], Array]


def weights(name: str, of: Callable[[Array, int], Array]) -> Softmax:
    """One that makes weights before it meets the values."""
    return Softmax(name, lambda s, axis, output: output(of(s, axis)))


def by_hand(s: Array, axis: int) -> Array:
    e = jnp.exp(s - s.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _stopped(s: Array, axis: int) -> Array:
    e = jnp.exp(s - jax.lax.stop_gradient(jnp.max(s, axis=axis, keepdims=True)))
    return e / jnp.sum(e, axis=axis, keepdims=True)


def _without_max(s: Array, axis: int) -> Array:
    e = jnp.exp(s)
    return e / jnp.expand_dims(jnp.sum(e, axis), axis)


def _reciprocal(s: Array, axis: int) -> Array:
    e = jnp.exp(s - s.max(axis, keepdims=True))
    return e * (1 / e.sum(axis, keepdims=True))


def _powers_of_two(s: Array, axis: int) -> Array:
    s = s * 1.4426950408889634
    e = jnp.exp2(s - s.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _by_log_of_sum(s: Array, axis: int) -> Array:
    m = s.max(axis, keepdims=True)
    return jnp.exp(s - (m + jnp.log(jnp.sum(jnp.exp(s - m), axis, keepdims=True))))


def _clipped_sum(s: Array, axis: int) -> Array:
    e = jnp.exp(s - s.max(axis, keepdims=True))
    return e / jnp.maximum(e.sum(axis, keepdims=True), 1e-20)


def _where(s: Array, axis: int) -> Array:
    return jax.nn.softmax(s, axis=axis, where=s > -1e8)


def _zero_where_masked(s: Array, axis: int) -> Array:
    return jnp.where(s > -1e8, jax.nn.softmax(s, axis=axis), 0)


def _masked_after(s: Array, axis: int) -> Array:
    is_kept = (s > -1e8).astype(s.dtype)
    e = jnp.exp(s - s.max(axis, keepdims=True)) * is_kept
    return e / e.sum(axis, keepdims=True)


def _divided_last(s: Array, axis: int, output: Output) -> Array:
    e = jnp.exp(s - s.max(axis, keepdims=True))
    return output(e) / e.sum(axis, keepdims=True)


def _sum_as_product(s: Array, axis: int, output: Output) -> Array:
    e = jnp.exp(s - s.max(axis, keepdims=True))
    return output(e) / (e @ jnp.ones((e.shape[axis], 1), e.dtype))


SOFTMAXES = [
    weights("jax.nn.softmax", lambda s, axis: jax.nn.softmax(s, axis=axis)),
    weights("by hand", by_hand),
    weights("maximum without gradient", _stopped),
    weights("without maximum", _without_max),
    weights("constant shift", lambda s, axis: _without_max(s - 4.0, axis)),
    weights("times the reciprocal", _reciprocal),
    weights("powers of two", _powers_of_two),
    weights("exp of log_softmax", lambda s, axis: jnp.exp(jax.nn.log_softmax(s, axis=axis))),
    weights(
        "exp of s - logsumexp",
        lambda s, axis: jnp.exp(s - jax.nn.logsumexp(s, axis=axis, keepdims=True)),
    ),
    weights("log of the sum by hand", _by_log_of_sum),
    weights("sum not below a bound", _clipped_sum),
    weights("where=", _where),
    weights("zero where masked", _zero_where_masked),
    weights("masked after exp", _masked_after),
]

DIVIDED_LAST = [
    Softmax("divided after the product", _divided_last),
    Softmax("sum as a product with ones", _sum_as_product),
]
"""For scores [..., S, T] and results [..., S, D]."""
