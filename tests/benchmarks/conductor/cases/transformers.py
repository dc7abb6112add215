"""A small GPT's training step, its layers one after another or in a loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.case import Case, Made
from tests.benchmarks.conductor.cases.arrays import integers, normal
from tests.benchmarks.conductor.cases.attention import attend, causal

Tree = Any


def layer(heads: int, x: Array, p: Tree) -> Array:
    """(s, d) through attention and a perceptron."""
    s, d = x.shape
    q, k, v = jnp.split(norm(x) @ p["qkv"], 3, axis=-1)
    split = [y.reshape(s, heads, d // heads).transpose(1, 0, 2)[None] for y in (q, k, v)]
    y = attend(causal, *split)[0].transpose(1, 0, 2).reshape(s, d)
    x = x + y @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


def norm(x: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def parameters(layers: int, d: int, vocabulary: int) -> Tree:
    shapes = {"qkv": (d, 3 * d), "out": (d, d), "up": (d, 4 * d), "down": (4 * d, d)}
    made = {
        name: normal(layers, *shape, scale=0.02, seed=k)
        for k, (name, shape) in enumerate(shapes.items())
    }
    return {"layers": made, "tokens": normal(vocabulary, d, scale=0.02, seed=9)}


def train_step(
    layers: int, length: int, *, in_a_loop: bool = False, again: bool = False, d: int = 128
) -> Made:
    """Loss and gradients of next-token prediction.

    Args:
        again: are layers computed again for their gradients?
    """
    block = jax.checkpoint(partial(layer, 4)) if again else partial(layer, 4)

    def loss(p: Tree, tokens: Array) -> Array:
        x = p["tokens"][tokens[:-1]]
        if in_a_loop:
            x, _ = jax.lax.scan(lambda x, each: (block(x, each), None), x, p["layers"])
        else:
            for k in range(layers):
                x = block(x, jax.tree.map(lambda each, k=k: each[k], p["layers"]))
        logits = jax.nn.log_softmax(norm(x) @ p["tokens"].T)
        return -jnp.mean(jnp.take_along_axis(logits, tokens[1:, None], 1))

    return jax.value_and_grad(loss), [parameters(layers, d, 512), integers(512, length + 1)]


TRANSFORMERS = (
    Case("GPT, 2 layers, training, S = 2048", lambda: train_step(2, 2048), 1.8, 4.0),
    Case("GPT, 2 layers, training, S = 4096", lambda: train_step(2, 4096), 3.0, 9.0),
    Case(
        "GPT, 2 layers in a scan, training, S = 2048",
        lambda: train_step(2, 2048, in_a_loop=True),
        1.8,
        4.0,
    ),
    Case(
        "GPT, 2 layers in a scan, training, S = 4096",
        lambda: train_step(2, 4096, in_a_loop=True),
        3.0,
        9.0,
    ),
)
