"""The weights are used otherwise than for a mean of values, or once more."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from tests.conductor.corpus.case import family
from tests.conductor.corpus.near_misses.given import N, causal, scores, three


def softmax(q: Array, k: Array) -> Array:
    return jax.nn.softmax(causal(scores(q, k)))


def _entropy(p: Array) -> Array:
    return -jnp.where(p > 0, p * jnp.log(jnp.where(p > 0, p, 1)), 0).sum(-1)


def _both(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    p = softmax(q, k)
    return p @ v, p


def _with_entropy(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    p = softmax(q, k)
    return p @ v, _entropy(p)


def _with_scores(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    s = scores(q, k)
    return jax.nn.softmax(s) @ v, s


def _kept_constant(q: Array, k: Array, v: Array) -> Array:
    return lax.stop_gradient(softmax(q, k)) @ v


def _scores_kept_constant(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(s + lax.stop_gradient(s)) @ v


def _same_weights(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    p = softmax(q, k)
    return p @ v, p.T @ q


def _in_turn(q: Array, k: Array, v: Array) -> Array:
    """Weights computed once, used three times one after the other."""
    p = softmax(q, k)
    return p @ (p @ (p @ v))


def _two_layers(q: Array, k: Array, v: Array) -> Array:
    v = softmax(q, k) @ v
    return softmax(v, k) @ v


def _with_itself(q: Array, k: Array, v: Array) -> Array:
    return softmax(q, q) @ q


def _symmetric(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(s + s.T) @ v


def _antisymmetric(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jnp.tanh(s - s.T) @ v


def _squared_scores(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(s @ s / N) @ v


def _scores_of_scores(q: Array, k: Array, v: Array) -> Array:
    s = scores(q, k)
    return jax.nn.softmax(s @ s.T / N) @ v


def _nystrom(q: Array, k: Array, v: Array) -> Array:
    """Through five landmarks."""
    few_q, few_k = q[::10], k[::10]
    left, right = jax.nn.softmax(scores(q, few_k)), jax.nn.softmax(scores(few_q, k))
    return left @ (right @ v)


def _inverse(q: Array, k: Array, v: Array) -> Array:
    return jnp.linalg.solve(jnp.eye(N, dtype=q.dtype) + 0.5 * softmax(q, k), v)


def _in_a_loop(q: Array, k: Array, v: Array) -> Array:
    """Weights from outside a loop, read at each step."""
    p = softmax(q, k)
    return lax.fori_loop(0, 3, lambda _, x: p @ x * 0.9, v)


def _in_a_scan(q: Array, k: Array, v: Array) -> Array:
    """One row at a time."""
    p = softmax(q, k)
    _, rows = lax.scan(lambda total, row: (total + row.sum(), row @ v), jnp.zeros((), q.dtype), p)
    return rows


def _until(q: Array, k: Array, v: Array) -> Array:
    """A loop with a bound that depends on the weights; no reverse derivative through it."""
    p = lax.stop_gradient(softmax(q, k))
    steps = lax.while_loop(lambda c: (p**c).sum() > 10, lambda c: c + 1, jnp.ones((), q.dtype))
    return softmax(q, k) @ v * steps


def _branching(q: Array, k: Array, v: Array) -> Array:
    p = softmax(q, k)
    return lax.cond(p[0, 0] > 0.5, lambda: p @ v, lambda: p.T @ v)


def _scattered(q: Array, k: Array, v: Array) -> Array:
    p = softmax(q, k).at[jnp.arange(N), (jnp.arange(N) * 7) % N].add(0.5)
    return p @ v


def _one_taken(q: Array, k: Array, v: Array) -> Array:
    return softmax(q, k)[7, 5] * v


def _of(use):
    return lambda q, k, v: use(softmax(q, k), v)


USES = family(
    "use",
    {
        "returned": _both,
        "returned alone": lambda q, k, v: softmax(q, k),
        "scores returned": _with_scores,
        "entropy returned": _with_entropy,
        "entropy": _of(lambda p, v: _entropy(p)[:, None] * v),
        "constant": _kept_constant,
        "scores as a constant": _scores_kept_constant,
        "twice, once transposed": _same_weights,
        "three times in turn": _in_turn,
        "two layers": _two_layers,
        "one array for all": _with_itself,
        "S + S^T": _symmetric,
        "S - S^T": _antisymmetric,
        "S S": _squared_scores,
        "S S^T": _scores_of_scores,
        "P P v": _of(lambda p, v: p @ p @ v),
        "P (P v)": _of(lambda p, v: p @ (p @ v)),
        "P (P^T v)": _of(lambda p, v: p @ (p.T @ v)),
        "P^T v": _of(lambda p, v: p.T @ v),
        "(P + P^T) v": _of(lambda p, v: (p + p.T) @ v),
        "(P * P^T) v": _of(lambda p, v: (p * p.T) @ v),
        "(P - I) v": _of(lambda p, v: (p - jnp.eye(N, dtype=p.dtype)) @ v),
        "diagonal": _of(lambda p, v: jnp.diagonal(p)[:, None] * v),
        "trace": _of(lambda p, v: jnp.trace(p) * v),
        "without its diagonal": _of(lambda p, v: (p - jnp.diag(jnp.diag(p))) @ v),
        "maximum of products": _of(lambda p, v: (p[:, :, None] * v).max(1)),
        "minimum of products": _of(lambda p, v: (p[:, :, None] * v).min(1)),
        "product of sums": _of(lambda p, v: (1 + p[:, :, None] * v).prod(1)),
        "logsumexp of products": _of(lambda p, v: jax.nn.logsumexp(p[:, :, None] * v, axis=1)),
        "standard deviation": _of(lambda p, v: p.std(-1, keepdims=True) * v),
        "norm": _of(lambda p, v: jnp.linalg.norm(p, axis=-1, keepdims=True) * v),
        "norm of all": _of(lambda p, v: jnp.sqrt((p * p).sum()) * v),
        "divided by v": _of(lambda p, v: (p[:, :, None] / (2 + v * v)).sum(1)),
        "v as an exponent": _of(lambda p, v: ((p[:, :, None] + 0.1) ** v[None]).sum(1)),
        "compared with v": _of(lambda p, v: (p[:, :, None] > v[None]).sum(1) * v),
        "inverse": _inverse,
        "landmarks": _nystrom,
        "in a loop": _in_a_loop,
        "in a scan": _in_a_scan,
        "until it is small": _until,
        "in a condition": _branching,
        "scattered into": _scattered,
        "one taken": _one_taken,
        "argmax": _of(lambda p, v: v[p.argmax(-1)] + p @ v),
        "sum of all": _of(lambda p, v: p.sum() * v),
        "mean over queries": _of(lambda p, v: p.mean(0) @ v),
        "reshaped": _of(lambda p, v: p.reshape(N * 2, N // 2) @ v[: N // 2]),
        "reshaped into blocks": _of(lambda p, v: p.reshape(7, 10, N).sum(1) @ v),
        "Fourier": _of(lambda p, v: jnp.abs(jnp.fft.fft(p)[:, :N] + 1.0) @ v),
    },
    three,
)
