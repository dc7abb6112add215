"""Functions whose traces are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

X = jnp.ones((3, 4))


def net(x: jax.Array) -> jax.Array:
    """With calls, loops, branches, a derivative of its own, and one that is asked for."""

    def layer(x: jax.Array) -> jax.Array:
        x = jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, jax.nn.relu(x))
        return jax.lax.scan(lambda c, y: (c * 2 + y, c), x[0], jax.nn.softmax(x))[1]

    return jax.grad(lambda x: jax.checkpoint(layer)(layer(x)).sum())(x)


OTHERS: list[tuple[Callable[..., Any], Any]] = [
    (net, jnp.ones((3, 5))),
    (net, jnp.ones((3, 4), "bfloat16")),
    *((lambda x, k=k: jnp.sum(x, k), X) for k in range(2)),
    *((lambda x, k=k: x * k, X) for k in (2, 3, 0.0, -0.0)),
    *((lambda x, k=k: jnp.clip(x, k, 1.0), X) for k in (0.0, -0.0)),
    (lambda x: x * 2, 1.0),
    (lambda x: x * 2, jnp.float32(1.0)),
    (lambda x: x - x[0], X),
    (lambda x: x[0] - x, X),
    (lambda x: (x[0], x[1]), X),
    (lambda x: (x[1], x[0]), X),
    *(
        (lambda x, k=k, r=r: jax.lax.scan(lambda c, y: (c * k + y, c), x[0], x, reverse=r)[1], X)
        for k in (2, 3)
        for r in (True, False)
    ),
    (jax.checkpoint(lambda x: x.sum()), X),
    (jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())), X),
    (jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum(), prevent_cse=False)), X),
]
"""And what they are given: no two of them are the same."""
