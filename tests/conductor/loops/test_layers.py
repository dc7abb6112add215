"""Layers in a scan, under a gradient, conducted: the same values in much less memory."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import conduct

D, HEADS = 32, 1


def layer(x: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
    """Causal attention and two products around a gelu; x is (tokens, D)."""
    tokens = len(x)
    y = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    q, k, v = (y @ w["qkv"]).reshape(tokens, 3, HEADS, -1).transpose(1, 2, 0, 3)
    scores = jnp.einsum("hid,hjd->hij", q, k) / math.sqrt(D / HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -jnp.inf)
    x = x + jnp.einsum("hij,hjd->ihd", jax.nn.softmax(scores), v).reshape(tokens, D) @ w["o"]
    return x + jax.nn.gelu(x @ w["up"]) @ w["down"]


def loss(ws: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    x, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)
    return (x**2).mean()


step = jax.value_and_grad(loss)


def weights(layers: int = 2) -> dict[str, jax.Array]:
    shapes = {"qkv": (D, 3 * D), "o": (D, D), "up": (D, 4 * D), "down": (4 * D, D)}
    random = np.random.default_rng(0)
    return {
        name: jnp.asarray(random.normal(size=(layers, *shape)) / 8, "float32")
        for name, shape in shapes.items()
    }


def test_the_same_in_much_less_memory() -> None:
    tokens = 2048
    x = jnp.asarray(np.random.default_rng(1).normal(size=(tokens, D)), "float32")
    plain, conducted = (
        jax.jit(each).lower(weights(), x).compile() for each in (step, conduct(step))
    )
    before, after = (each.memory_analysis().temp_size_in_bytes for each in (plain, conducted))
    assert after * 4 < before
    assert after < 4 * HEADS * tokens * tokens  # the scores of one layer

    def close(one: jax.Array, other: jax.Array) -> None:
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6 * float(jnp.abs(one).max()))

    jax.tree.map(close, plain(weights(), x), conducted(weights(), x))
