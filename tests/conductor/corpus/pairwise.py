"""Computations over all pairs that are no attention: losses, kernels, bodies, and other weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tests.conductor.corpus.case import Case, normal

N, D, V = 80, 3, 150
"""Points, features of a point, words."""


def apart(x: Array, y: Array) -> Array:
    """Squared distances [n, m]."""
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def potential(x: Array, mass: Array) -> Array:
    return -0.5 * (mass[:, None] * mass / jnp.sqrt(apart(x, x) + 0.1)).sum()


def forces(x: Array, mass: Array) -> Array:
    to = x[None] - x[:, None]
    return (to * (mass / (apart(x, x) + 0.1) ** 1.5)[..., None]).sum(1)


def kernel_regression(x: Array, y: Array, z: Array) -> Array:
    """Nadaraya and Watson, from differences."""
    k = jnp.exp(-0.5 * apart(x, z))
    return (k @ y) / k.sum(1, keepdims=True)


def kernel_by_products(x: Array, y: Array, z: Array) -> Array:
    """The same from a matrix product."""
    d2 = (x * x).sum(1)[:, None] + (z * z).sum(1) - 2 * x @ z.T
    return jax.nn.softmax(-0.5 * d2, axis=1) @ y


def gram_product(x: Array, y: Array, z: Array) -> Array:
    return jnp.exp(-jnp.sqrt(apart(x, z) + 1e-6)) @ y + 0.1 * y


def discrepancy(x: Array, y: Array, z: Array) -> Array:
    """Maximum mean discrepancy of two samples."""
    k = [jnp.exp(-apart(a, b)).mean() for a, b in ((x, x), (z, z), (x, z))]
    return k[0] + k[1] - 2 * k[2] + 0 * y.sum()


def chamfer(x: Array, y: Array, z: Array) -> Array:
    d2 = apart(x, z)
    return d2.min(0).mean() + d2.min(1).mean() + y.mean()


def clip(x: Array, y: Array, z: Array) -> Array:
    """Both ways; the labels are the diagonal."""
    s = x @ z.T * jnp.exp(y[0, 0])
    labels = jnp.arange(len(x))
    rows = jax.nn.logsumexp(s, 1) - (x * z).sum(1) * jnp.exp(y[0, 0])
    columns = -jnp.take_along_axis(jax.nn.log_softmax(s, 0), labels[None], 0)[0]
    return (rows.mean() + columns.mean()) / 2


def of_directions(x: Array, y: Array, z: Array) -> Array:
    """Both ways, of rows divided by their lengths; what belongs together is the diagonal."""
    x, z = (a / jnp.linalg.norm(a, axis=1, keepdims=True) for a in (x, z))
    s = x @ z.T * jnp.exp(y[0, 0])
    lost = [jax.nn.logsumexp(s, axis) - jnp.diagonal(s) for axis in (0, 1)]
    return (lost[0].mean() + lost[1].mean()) / 2


def siglip(x: Array, y: Array, z: Array) -> Array:
    signs = 2 * jnp.eye(len(x), dtype=x.dtype) - 1
    return -jax.nn.log_sigmoid(signs * (x @ z.T * 2 + y[0, 0])).sum(1).mean()


def info_nce(x: Array, y: Array, z: Array) -> Array:
    """NT-Xent: the same view does not count."""
    both = jnp.concatenate([x, z])
    both = both / jnp.linalg.norm(both, axis=1, keepdims=True)
    s = jnp.where(jnp.eye(len(both), dtype=bool), -1e9, both @ both.T / 0.5)
    partner = jnp.roll(jnp.arange(len(both)), len(x))
    return -jax.nn.log_softmax(s)[jnp.arange(len(both)), partner].mean() + y.mean()


def ranking(x: Array, y: Array, z: Array) -> Array:
    """Every better one shall score higher."""
    score, worth = (x * z).sum(1), y[:, 0]
    is_better = worth[:, None] > worth
    return jnp.where(is_better, jax.nn.softplus(score - score[:, None]), 0).sum()


def sigmoid_attention(x: Array, y: Array, z: Array) -> Array:
    return jax.nn.sigmoid(x @ z.T - 2) @ y


def squared_relu(x: Array, y: Array, z: Array) -> Array:
    i = jnp.arange(N)
    return jnp.where(i[:, None] >= i, jax.nn.relu(x @ z.T) ** 2, 0) @ y / N


def retention(x: Array, y: Array, z: Array) -> Array:
    n = jnp.arange(N)[:, None] - jnp.arange(N)
    decay = jnp.where(n >= 0, 0.9 ** jnp.maximum(n, 0).astype(x.dtype), 0)
    return (x @ z.T * decay) @ y


def linear_attention(x: Array, y: Array, z: Array) -> Array:
    p = jnp.tril((jax.nn.elu(x) + 1) @ (jax.nn.elu(z) + 1).T)
    return p @ y / (p.sum(1, keepdims=True) + 1e-6)


def graph_attention(x: Array, y: Array, z: Array) -> Array:
    """GAT: scores are sums of one number of each end, links are near points."""
    s = jax.nn.leaky_relu(x.sum(1)[:, None] + z.sum(1), 0.2)
    return jax.nn.softmax(jnp.where(apart(x, z) < 4, s, -1e9)) @ y


def neighbour_embedding(x: Array, y: Array, z: Array) -> Array:
    """t-SNE's divergence of affinities of y from those of x."""
    p = jax.nn.softmax(-apart(z, z).reshape(-1)).reshape(N, N)
    q = 1 / (1 + apart(x, x))
    return (p * (jnp.log(p + 1e-9) - jnp.log(q / q.sum() + 1e-9))).sum() + y.mean()


def words(x: Array, w: Array) -> Array:
    return x @ w


LABELS = np.random.default_rng(3).integers(0, V, N)


def picked(x: Array, w: Array) -> Array:
    s = words(x, w)
    return (jax.nn.logsumexp(s, -1) - jnp.take_along_axis(s, LABELS[:, None], -1)[:, 0]).mean()


def indexed(x: Array, w: Array) -> Array:
    return -jax.nn.log_softmax(words(x, w))[jnp.arange(N), LABELS].mean()


def one_hot(x: Array, w: Array) -> Array:
    return (
        -(jax.nn.one_hot(LABELS, V, dtype=x.dtype) * jax.nn.log_softmax(words(x, w))).sum(-1).mean()
    )


def smoothed(x: Array, w: Array) -> Array:
    log_p = jax.nn.log_softmax(words(x, w))
    target = jnp.take_along_axis(log_p, LABELS[:, None], -1)[:, 0]
    return -(0.9 * target + 0.1 * log_p.mean(-1)).mean()


def one_by_one(x: Array, w: Array) -> Array:
    """As ``vmap`` writes it: each row picks with a window of its own."""

    def loss(row: Array, label: Array) -> Array:
        return -jax.nn.log_softmax(row)[label]

    return jax.vmap(loss)(words(x, w), jnp.asarray(LABELS)).mean()


def z_loss(x: Array, w: Array) -> Array:
    lse = jax.nn.logsumexp(words(x, w), -1)
    return picked(x, w) + 1e-2 * (lse * lse).mean()


def _three(function: Callable[..., Array]) -> Case:
    def arguments() -> tuple[Any, ...]:
        return normal(N, D), normal(N, 2, seed=1), normal(N, D, seed=2)

    return Case(_name(function), function, arguments, large=N, is_tiled=True)


def _two(function: Callable[..., Array], *shapes: tuple[int, ...]) -> Case:
    def arguments() -> tuple[Any, ...]:
        return tuple(normal(*shape, seed=n) for n, shape in enumerate(shapes))

    return Case(_name(function), function, arguments, large=N, is_tiled=True, moving=(0, 1))


def _name(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ")


LOSSES = [
    _two(each, (N, 8), (8, V)) for each in (picked, indexed, one_by_one, one_hot, smoothed, z_loss)
]

PAIRWISE = [
    *(_two(each, (N, D), (N,)) for each in (potential, forces)),
    *(
        _three(each)
        for each in (
            *(kernel_regression, kernel_by_products, gram_product, discrepancy, chamfer),
            *(
                clip,
                of_directions,
                siglip,
                info_nce,
                ranking,
                sigmoid_attention,
                squared_relu,
                retention,
            ),
            *(linear_attention, graph_attention, neighbour_embedding),
        )
    ),
    *LOSSES,
]
