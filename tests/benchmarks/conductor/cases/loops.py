"""Loops as others write them, of which a compiler makes good code: they must not get slower."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, nn

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal


def crf(length: int, tags: int) -> Made:
    """The forward pass of a conditional random field; unknown steps are passed over."""

    def run(scores: Array, moves: Array, known: Array) -> Array:
        def step(a: Array, each: tuple[Array, Array]) -> tuple[Array, None]:
            scores, known = each
            new = nn.logsumexp(a[:, :, None] + moves, axis=1) + scores
            return jnp.where(known[:, None], new, a), None

        return jax.lax.scan(step, scores[0], (scores[1:], known[1:]))[0]

    known = normal(length, 2, seed=2) > -1
    return run, [normal(length, 2, tags), normal(tags, tags, seed=1), known]


def lstm(length: int, rows: int, d: int) -> Made:
    """Hochreiter & Schmidhuber 1997; both products in the loop."""

    def run(x: Array, w: Array, u: Array) -> Array:
        def step(carry: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            h, c = carry
            i, f, g, o = jnp.split(x @ w + h @ u, 4, axis=1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((rows, d))
        return jax.lax.scan(step, (start, start), x)[1]

    weights = [normal(d, 4 * d, scale=0.1, seed=seed) for seed in (1, 2)]
    return run, [normal(length, rows, d), *weights]


def mlstm(length: int, d: int) -> Made:
    """Beck et al. 2024: a matrix for a state, kept from overflow by its largest gate."""

    def run(q: Array, k: Array, v: Array, i: Array, f: Array) -> Array:
        def step(
            carry: tuple[Array, Array, Array], each: tuple[Array, ...]
        ) -> tuple[tuple[Array, Array, Array], Array]:
            (c, total, most), (q, k, v, i, f) = carry, each
            kept = nn.log_sigmoid(f) + most
            new = jnp.maximum(kept, i)
            forget, enter = jnp.exp(kept - new), jnp.exp(i - new)
            c = forget * c + enter * jnp.outer(v, k)
            total = forget * total + enter * k
            return (c, total, new), (c @ q) / jnp.maximum(jnp.abs(total @ q), jnp.exp(-new))

        start = jnp.zeros((d, d)), jnp.zeros(d), jnp.array(0.0)
        return jax.lax.scan(step, start, (q, k, v, i, f))[1]

    vectors = [normal(length, d, seed=seed) for seed in range(3)]
    return run, [*vectors, normal(length, seed=3), normal(length, seed=4) + 3]


LOOPS = (
    Case("conditional random field, T = 257, 9 tags", lambda: crf(257, 9), 0.97),
    Case("LSTM, T = 300, 2 rows of 48", lambda: lstm(300, 2, 48), 0.97),
    Case("mLSTM, T = 512, 32 x 32", lambda: mlstm(512, 32), 0.97),
)
