"""Computations over all pairs that are no attention."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal


def n_body(n: int) -> Made:
    """Energy and forces of n bodies."""

    def energy(x: Array, mass: Array) -> Array:
        apart = x[:, None, :] - x[None, :, :]
        distance = jnp.sqrt(jnp.sum(apart**2, -1) + 1e-3)
        return -0.5 * jnp.sum(mass[:, None] * mass[None, :] / distance)

    return jax.value_and_grad(energy), [normal(n, 3), jnp.abs(normal(n, seed=1))]


def kernel_regression(n: int, d: int) -> Made:
    """Nadaraya-Watson, all differences written out."""

    def loss(x: Array, y: Array, scale: Array) -> Array:
        apart = (x[:, None, :] - x[None, :, :]) * scale
        weight = jnp.exp(-0.5 * jnp.sum(apart**2, -1))
        predicted = weight @ y / jnp.sum(weight, 1, keepdims=True)
        return jnp.mean((predicted - y) ** 2)

    function = jax.value_and_grad(loss, argnums=(0, 2))
    return function, [normal(n, d), normal(n, 1, seed=1), jnp.ones(d)]


def kernel_regression_by_products(n: int, d: int) -> Made:
    """The same with squared distances from one matrix product."""

    def loss(x: Array, y: Array, scale: Array) -> Array:
        z = x * scale
        square = jnp.sum(z * z, 1)
        apart = square[:, None] + square[None, :] - 2 * z @ z.T
        weight = jnp.exp(-0.5 * apart)
        predicted = weight @ y / jnp.sum(weight, 1, keepdims=True)
        return jnp.mean((predicted - y) ** 2)

    function = jax.value_and_grad(loss, argnums=(0, 2))
    return function, [normal(n, d, scale=0.3), normal(n, 1, seed=1), jnp.ones(d)]


def clip(n: int, d: int) -> Made:
    """Both directions of a contrastive loss."""

    def loss(a: Array, b: Array, scale: Array) -> Array:
        a = a / jnp.linalg.norm(a, axis=1, keepdims=True)
        b = b / jnp.linalg.norm(b, axis=1, keepdims=True)
        logits = jnp.exp(scale) * a @ b.T
        own = jnp.exp(scale) * jnp.sum(a * b, 1)
        rows = jax.nn.logsumexp(logits, axis=1) - own
        columns = jax.nn.logsumexp(logits, axis=0) - own
        return jnp.mean(rows + columns) / 2

    function = jax.value_and_grad(loss, argnums=(0, 1, 2))
    return function, [normal(n, d), normal(n, d, seed=1), jnp.asarray(1.0)]


def siglip(n: int, d: int) -> Made:
    """A sigmoid loss over all pairs."""

    def loss(a: Array, b: Array, scale: Array, bias: Array) -> Array:
        logits = jnp.exp(scale) * a @ b.T + bias
        sign = 2 * (jnp.arange(n)[:, None] == jnp.arange(n)[None, :]) - 1
        return -jnp.mean(jnp.sum(jax.nn.log_sigmoid(sign * logits), 1))

    function = jax.value_and_grad(loss, argnums=(0, 1, 2, 3))
    return function, [
        normal(n, d, scale=0.1),
        normal(n, d, scale=0.1, seed=1),
        jnp.asarray(1.0),
        jnp.asarray(-3.0),
    ]


PAIRS = (
    Case("n bodies, n = 4096", lambda: n_body(4096), 2.0, 60.0),
    Case("kernel regression, n = 4096, d = 8", lambda: kernel_regression(4096, 8), 2.0, 60.0),
    Case(
        "kernel regression by products, n = 4096, d = 8",
        lambda: kernel_regression_by_products(4096, 8),
        2.0,
        20.0,
    ),
    Case("CLIP loss, n = 8192, d = 64", lambda: clip(8192, 64), 2.0, 60.0),
    Case("SigLIP loss, n = 8192, d = 64", lambda: siglip(8192, 64), 2.0, 60.0),
)
