"""Recurrences as loops, and as `associative_scan`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal, uniform


def min_gru(length: int, d: int) -> Made:
    """Feng et al. 2024: both gates depend on the input alone."""

    def run(x: Array, wz: Array, wh: Array) -> Array:
        def step(h: Array, x: Array) -> tuple[Array, Array]:
            z = jax.nn.sigmoid(x @ wz)
            h = (1 - z) * h + z * (x @ wh)
            return h, h

        return jax.lax.scan(step, jnp.zeros(d), x)[1]

    return run, [normal(length, d), normal(d, d, scale=0.1), normal(d, d, scale=0.1, seed=1)]


def lru(length: int, d: int, n: int) -> Made:
    """Orvieto et al. 2023: a diagonal complex state."""

    def run(x: Array, b: Array, c: Array, decay: Array, angle: Array) -> Array:
        turn = jnp.exp(-jnp.exp(decay) + 1j * angle)

        def step(h: Array, x: Array) -> tuple[Array, Array]:
            h = turn * h + b @ x
            return h, (c @ h).real

        return jax.lax.scan(step, jnp.zeros(n, "complex64"), x)[1]

    b = (normal(n, d) + 1j * normal(n, d, seed=1)) / d
    c = (normal(d, n, seed=2) + 1j * normal(d, n, seed=3)) / n
    return run, [normal(length, d, seed=4), b, c, normal(n, seed=5), uniform(0, 6, n)]


def selective(x: Array, dt: Array, a: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """(t, d, n) decays and inputs of Mamba's recurrence, and (t, n) what reads its state."""
    decay = jnp.exp(dt[:, :, None] * a)
    return decay, dt[:, :, None] * b[:, None, :] * x[:, :, None], c


def mamba_arguments(length: int, d: int, n: int) -> list[Array]:
    return [
        normal(length, d),
        jax.nn.softplus(normal(length, d, seed=1) - 3),
        -jnp.exp(normal(d, n, seed=2)),
        normal(length, n, seed=3),
        normal(length, n, seed=4),
    ]


def mamba_trained(length: int, d: int, n: int) -> Made:
    """Gu & Dao 2023, as a loop, with gradients."""

    def loss(x: Array, dt: Array, a: Array, b: Array, c: Array) -> Array:
        def step(h: Array, each: tuple[Array, ...]) -> tuple[Array, Array]:
            x, dt, b, c = each
            h = jnp.exp(dt[:, None] * a) * h + dt[:, None] * b[None, :] * x[:, None]
            return h, h @ c

        _, y = jax.lax.scan(step, jnp.zeros((d, n)), (x, dt, b, c))
        return jnp.sum(y**2)

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3, 4)), mamba_arguments(length, d, n)


def affine_in_parallel(decay: Array, added: Array) -> Array:
    """All states of a diagonal recurrence by `associative_scan` (Martin & Cundy 2018)."""

    def combine(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
        return one[0] * two[0], two[0] * one[1] + two[1]

    _, h = jax.lax.associative_scan(combine, (decay, added))
    return h


def diagonal(length: int, d: int) -> Made:
    return affine_in_parallel, [uniform(0.0, 1.0, length, d), normal(length, d)]


def diagonal_trained(length: int, d: int) -> Made:
    def loss(decay: Array, added: Array) -> Array:
        return jnp.sum(jnp.sin(affine_in_parallel(decay, added)))

    return jax.value_and_grad(loss, argnums=(0, 1)), diagonal(length, d)[1]


def mamba_in_parallel(length: int, d: int, n: int) -> Made:
    """The same forward, by `associative_scan`."""

    def run(x: Array, dt: Array, a: Array, b: Array, c: Array) -> Array:
        decay, added, read = selective(x, dt, a, b, c)
        return jnp.einsum("tdn,tn->td", affine_in_parallel(decay, added), read)

    return run, mamba_arguments(length, d, n)


def mamba_in_parallel_trained(length: int, d: int, n: int) -> Made:
    """The same with gradients."""
    run, arguments = mamba_in_parallel(length, d, n)

    def loss(*arrays: Array) -> Array:
        return jnp.sum(run(*arrays) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3, 4)), arguments


RECURRENCES = (
    Case("minGRU, T = 2048, d = 256", lambda: min_gru(2048, 256), 3.0),
    Case("LRU, T = 4096, d = 128, n = 128", lambda: lru(4096, 128, 128), 3.0),
    Case(
        "Mamba with gradients, T = 4096, 64 x 16",
        lambda: mamba_trained(4096, 64, 16),
        1.0,
        20.0,
        "memory",
    ),
    Case("a diagonal by associative_scan, T = 1024, 256", lambda: diagonal(1024, 256), 1.0),
    Case(
        "the same with gradients, T = 1024, 256",
        lambda: diagonal_trained(1024, 256),
        1.0,
    ),
    Case("a diagonal by associative_scan, T = 4096, 16", lambda: diagonal(4096, 16), 1.0),
    Case(
        "Mamba by associative_scan, T = 2048, 128 x 16",
        lambda: mamba_in_parallel(2048, 128, 16),
        8.0,
    ),
    Case(
        "the same with gradients, T = 2048, 64 x 16, for memory",
        lambda: mamba_in_parallel_trained(2048, 64, 16),
        1.0,
        20.0,
        "memory",
    ),
    Case(
        "the same with gradients, T = 2048, 64 x 16, for time",
        lambda: mamba_in_parallel_trained(2048, 64, 16),
        1.0,
    ),
)
