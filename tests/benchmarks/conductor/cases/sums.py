"""What hangs on how a CPU's library sums: over a batch, and over few coordinates."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal


def variance(batch: int, size: int) -> Made:
    return lambda x: jnp.var(x, 0), [normal(batch, size)]


def standardised(batch: int, size: int) -> Made:
    return lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3), [normal(batch, size)]


def of_places(batch: int, length: int, d: int) -> Made:
    """The gradient of what is added at each place, the same for all of a batch."""

    def loss(places: Array, x: Array, w: Array) -> Array:
        return jnp.mean((jnp.tanh(x + places) @ w) ** 2)

    return jax.grad(loss), [normal(length, d), normal(batch, length, d), normal(d, d)]


def gaussian_process(
    n: int, d: int, kernel: Callable[[Array], Array] = lambda apart: jnp.exp(-0.5 * apart)
) -> Made:
    """Negative log likelihood, with gradients; Rasmussen and Williams, 2006, algorithm 2.1."""

    def loss(scales: Array, noise: Array, x: Array, y: Array) -> Array:
        apart = (((x[:, None] - x[None]) / jnp.exp(scales)) ** 2).sum(-1)
        factor = jnp.linalg.cholesky(kernel(apart) + jnp.exp(noise) * jnp.eye(n))
        weights = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * y @ weights + jnp.log(jnp.diag(factor)).sum()

    arrays = [jnp.zeros(d), jnp.asarray(-2.0), normal(n, d), normal(n, seed=1)]
    return jax.value_and_grad(loss, argnums=(0, 1)), arrays


def periodic(n: int, d: int) -> Made:
    """The same with a kernel of sines, which are dear to make again."""

    def loss(scales: Array, noise: Array, x: Array, y: Array) -> Array:
        waves = (jnp.sin(3.1 * (x[:, None] - x[None]) / jnp.exp(scales)) ** 2).sum(-1)
        factor = jnp.linalg.cholesky(jnp.exp(-2 * waves) + jnp.exp(noise) * jnp.eye(n))
        weights = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * y @ weights + jnp.log(jnp.diag(factor)).sum()

    arrays = [jnp.zeros(d), jnp.asarray(-2.0), normal(n, d), normal(n, seed=1)]
    return jax.value_and_grad(loss, argnums=(0, 1)), arrays


def matern(apart: Array) -> Array:
    """Of order 5/2; its formula 4.17."""
    far = jnp.sqrt(5 * apart + 1e-12)
    return (1 + far + far**2 / 3) * jnp.exp(-far)


SUMS = (
    Case("variance over a batch, 64 x 65536", lambda: variance(64, 65536), 0.97),
    Case("standardised over a batch, 64 x 65536", lambda: standardised(64, 65536), 0.97),
    Case("gradient of places, 32 x 128 x 256", lambda: of_places(32, 128, 256), 0.97),
    Case("Gaussian process, n = 1024, d = 3", lambda: gaussian_process(1024, 3), 0.97),
    Case("Gaussian process, n = 512, d = 8", lambda: gaussian_process(512, 8), 0.97),
    Case("the same, Matern, n = 1024, d = 3", lambda: gaussian_process(1024, 3, matern), 0.97),
    Case("the same, periodic, n = 1024, d = 3", lambda: periodic(1024, 3), 0.97),
)
