"""Distances that a loop reads in each of its steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import normal


def transport(x: Array, y: Array) -> Array:
    """What both marginals are worth after twenty steps of Sinkhorn's (M. Cuturi, 2013)."""
    cost = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T

    def step(given: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        _, g = given
        f = -jax.nn.logsumexp(g - cost, 1)
        g = -jax.nn.logsumexp(f[:, None] - cost, 0)
        return (f, g), None

    start = jnp.zeros(len(x)), jnp.zeros(len(y))
    f, g = jax.lax.scan(step, start, None, length=20)[0]
    return f.mean() + g.mean()


def clouds(n: int) -> list[Array]:
    return [normal(n, 16, scale=0.3, seed=seed) for seed in (1, 2)]


def trained() -> Made:
    return jax.value_and_grad(transport, (0, 1)), clouds(1024)


TRANSPORT = (
    Case("optimal transport, n = 2048, 20 steps", lambda: (transport, clouds(2048))),
    Case(
        "optimal transport, n = 2048, 20 steps, for memory",
        lambda: (transport, clouds(2048)),
        objective="memory",
    ),
    Case("the same, n = 1024, with gradients, for memory", trained, objective="memory"),
)
