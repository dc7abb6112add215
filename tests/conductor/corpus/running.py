"""Attention whose weights depend on what stands between query and key: sums that run along keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.conductor.corpus.case import Case, normal

H, N, D = 2, 70, 4
PLACES = 12
"""Positions that contextual position encoding tells apart."""

NEVER = -1e30


def _scores(q: Array, k: Array) -> Array:
    return jnp.einsum("hid,hjd->hij", q, k) * D**-0.5


def _is_before(s: Array) -> Array:
    """Strictly: a query does not see itself."""
    i = jnp.arange(s.shape[-2])[:, None]
    return i > jnp.arange(s.shape[-1])


def _is_seen(s: Array) -> Array:
    i = jnp.arange(s.shape[-2])[:, None]
    return i >= jnp.arange(s.shape[-1])


def stick_breaking(q: Array, k: Array, v: Array) -> Array:
    """Tan and others, "Stick-breaking attention" (2024)."""
    s = _scores(q, k)
    seen = _is_before(s)
    left = jnp.where(seen, jax.nn.log_sigmoid(-s), 0)
    between = lax.cumsum(left, 2, reverse=True) - left
    return jnp.where(seen, jnp.exp(jax.nn.log_sigmoid(s) + between), 0) @ v


def turned_stick_breaking(q: Array, k: Array, v: Array) -> Array:
    """Turned round, summed and turned back; masked by a very small logarithm."""
    s = _scores(q, k)
    seen = _is_before(s)
    left = jnp.where(seen, -jax.nn.softplus(s), 0)
    between = jnp.flip(jnp.cumsum(jnp.flip(left, -1), -1), -1) - left
    return jnp.exp(jnp.where(seen, s - jax.nn.softplus(s) + between, NEVER)) @ v


def stick_breaking_with_rest(q: Array, k: Array, v: Array) -> Array:
    """What is left of the stick goes to the query's own value."""
    s = _scores(q, k)
    seen = _is_before(s)
    left = jnp.where(seen, jax.nn.log_sigmoid(-s), 0)
    between = jnp.cumsum(left[..., ::-1], -1)[..., ::-1] - left
    weights = jnp.where(seen, jnp.exp(jax.nn.log_sigmoid(s) + between), 0)
    return weights @ v + (1 - weights.sum(-1, keepdims=True)) * v


def stick_of_differences(q: Array, k: Array, v: Array) -> Array:
    """Sums from the beginning: what is between is the difference of two."""
    s = _scores(q, k)
    seen = _is_before(s)
    left = jnp.where(seen, jax.nn.log_sigmoid(-s), 0)
    sums = jnp.cumsum(left, -1)
    between = sums[..., -1:] - sums
    return jnp.where(seen, jnp.exp(jax.nn.log_sigmoid(s) + between), 0) @ v


def contextual_positions(q: Array, k: Array, v: Array, places: Array) -> Array:
    """CoPE: Golovneva and others, "Contextual position encoding" (2024)."""
    s = _scores(q, k)
    gates = jnp.where(_is_seen(s), jax.nn.sigmoid(s), 0)
    at = jnp.minimum(jnp.cumsum(gates[..., ::-1], -1)[..., ::-1], PLACES - 1)
    above, below = jnp.ceil(at), jnp.floor(at)
    of_places = q @ places
    high, low = (
        jnp.take_along_axis(of_places, each.astype("int32"), -1) for each in (above, below)
    )
    part = at - below
    s = s + high * part + low * (1 - part)
    return jax.nn.softmax(jnp.where(_is_seen(s), s, -jnp.inf)) @ v


def decayed_by_context(q: Array, k: Array, v: Array) -> Array:
    """Scores less what the gates between have added up."""
    s = _scores(q, k)
    gates = jnp.where(_is_seen(s), jax.nn.sigmoid(s), 0)
    return jax.nn.softmax(jnp.where(_is_seen(s), s - lax.cumsum(gates, 2, reverse=True), NEVER)) @ v


def monotonic(q: Array, k: Array, v: Array) -> Array:
    """The first key that is chosen: Raffel and others, "Online and linear-time attention by
    enforcing monotonic alignments" (2017), with their safe product."""
    p = jax.nn.sigmoid(_scores(q, k))
    left = jnp.log(jnp.clip(1 - p, 1e-10, 1))
    return (p * jnp.exp(jnp.cumsum(left, -1) - left)) @ v


def monotonic_product(q: Array, k: Array, v: Array) -> Array:
    left = 1 - 0.9 * jax.nn.sigmoid(_scores(q, k))
    return ((1 - left) * lax.cumprod(left, 2) / left) @ v


def softmax_of_sums(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(jnp.cumsum(_scores(q, k), -1)) @ v


def masked_softmax_of_sums(q: Array, k: Array, v: Array) -> Array:
    s = _scores(q, k)
    return jax.nn.softmax(jnp.where(_is_seen(s), jnp.cumsum(s, -1), -jnp.inf)) @ v


def covered(q: Array, k: Array, v: Array) -> Array:
    """What earlier queries have looked at counts less: sums along queries."""
    s = jnp.where(_is_seen(_scores(q, k)), _scores(q, k), NEVER)
    p = jax.nn.softmax(s)
    return jax.nn.softmax(s - (jnp.cumsum(p, -2) - p)) @ v


def transposed(q: Array, k: Array, v: Array) -> Array:
    """Keys first, and a softmax along them."""
    s = jnp.einsum("hid,hjd->jhi", q, k)
    p = jax.nn.softmax(s - lax.cumsum(jax.nn.softplus(s), 0), 0)
    return jnp.einsum("jhi,hjd->hid", p, v)


def _case(function: Callable[..., Array], is_tiled: bool | None = True) -> Case:
    shapes = [(H, N, D)] * 3 + ([(D, PLACES)] if function is contextual_positions else [])

    def arguments() -> tuple[Any, ...]:
        return tuple(normal(*shape, seed=n) for n, shape in enumerate(shapes))

    name = function.__name__.replace("_", " ")
    moving = tuple(range(len(shapes)))
    return Case(name, function, arguments, large=N, is_tiled=is_tiled, moving=moving)


RUNNING = [
    *map(
        _case,
        (
            *(stick_breaking, turned_stick_breaking, stick_breaking_with_rest),
            *(stick_of_differences, contextual_positions, decayed_by_context, monotonic),
            *(softmax_of_sums, masked_softmax_of_sums, covered, transposed),
        ),
    ),
    _case(monotonic_product, None),
]
"""Of a running product JAX makes a derivative that is no running one: there it is not expected."""
