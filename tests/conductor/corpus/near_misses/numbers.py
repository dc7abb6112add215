"""Numbers that spread: NaN and infinities, also where a mask hides them, and edges of overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.case import Case
from tests.conductor.corpus.near_misses.given import N, causal, lower, scores, three


def _filled(s: Array, v: Array) -> Array:
    return jax.nn.softmax(causal(s)) @ v


def _infinite(s: Array, v: Array) -> Array:
    return jax.nn.softmax(causal(s, -jnp.inf)) @ v


def _added(s: Array, v: Array) -> Array:
    return jax.nn.softmax(s + jnp.where(lower(s), 0, -1e9)) @ v


def _by_hand(s: Array, v: Array) -> Array:
    s = causal(s)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def _without_max(s: Array, v: Array) -> Array:
    e = jnp.exp(causal(s))
    return (e @ v) / e.sum(-1, keepdims=True)


def _log(s: Array, v: Array) -> Array:
    s = causal(s)
    return jnp.exp(s - jax.nn.logsumexp(s, -1, keepdims=True)) @ v


def _where(s: Array, v: Array) -> Array:
    return jax.nn.softmax(s, where=lower(s)) @ v


def _after(s: Array, v: Array) -> Array:
    e = jnp.where(lower(s), jnp.exp(s - s.max(-1, keepdims=True)), 0)
    return (e / e.sum(-1, keepdims=True)) @ v


def _window(s: Array, v: Array) -> Array:
    apart = jnp.arange(N)[:, None] - jnp.arange(N)
    return jax.nn.softmax(jnp.where((apart >= 0) & (apart < 8), s, -1e9)) @ v


def _plain(s: Array, v: Array) -> Array:
    return jax.nn.softmax(s) @ v


def _unnormalised(s: Array, v: Array) -> Array:
    return jnp.exp(causal(s)) @ v


def _squared(s: Array, v: Array) -> Array:
    return jnp.where(lower(s), s * s, 0) @ v


Mean = Callable[[Array, Array], Array]

MASKED: dict[str, Mean] = {
    "filled": _filled,
    "-inf": _infinite,
    "added": _added,
    "by hand": _by_hand,
    "without maximum": _without_max,
    "log": _log,
    "where=": _where,
    "masked after": _after,
    "window": _window,
    "squares": _squared,
}


def poisoned(which: int, row: int, value: float) -> Callable[[], tuple[Any, ...]]:
    """q, k and v with one bad number: in the row `row` of the argument `which`."""

    def arguments() -> tuple[Any, ...]:
        made = three()
        made[which][row, 1] = value
        return made

    return arguments


POISONS = {
    "nan in the last v": poisoned(2, N - 1, np.nan),
    "inf in the last v": poisoned(2, N - 1, np.inf),
    "-inf in an early v": poisoned(2, 3, -np.inf),
    "nan in the last k": poisoned(1, N - 1, np.nan),
    "inf in a late k": poisoned(1, N - 4, np.inf),
    "nan in a q": poisoned(0, 17, np.nan),
    "-inf in a q": poisoned(0, 30, -np.inf),
    "large v": poisoned(2, N - 2, 3e38),
    "large k": poisoned(1, N - 2, 1e30),
}


def _edge(mean: Mean, times: float, plus: float) -> Callable[..., Array]:
    return lambda q, k, v: mean(scores(q, k) * times + plus, v)


POISONED = [
    Case(f"poison: {bad}, {name}", _edge(mean, 1.0, 0.0), arguments)
    for bad, arguments in POISONS.items()
    for name, mean in MASKED.items()
]

EDGE_MEANS: dict[str, Mean] = {
    "plain": _plain,
    "filled": _filled,
    "without maximum": _without_max,
    "log": _log,
    "masked after": _after,
    "unnormalised": _unnormalised,
}

SCALES = {
    "times 30": (30.0, 0.0),
    "times 60": (60.0, 0.0),
    "times 1e4": (1e4, 0.0),
    "times 1e30": (1e30, 0.0),
    "plus 80": (3.0, 80.0),
    "plus 88": (1.0, 88.0),
    "minus 90": (3.0, -90.0),
    "minus 104": (1.0, -104.0),
    "minus 1000": (1.0, -1000.0),
    "times 1e-30": (1e-30, 0.0),
}


EDGES = [
    Case(f"edge: {scale}, {name}", _edge(mean, *numbers), three)
    for scale, numbers in SCALES.items()
    for name, mean in EDGE_MEANS.items()
]
