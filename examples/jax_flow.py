"""Which step size trains a causal attention layer best? JAX tasks, conducted on their workers.

    pip install "jax>=0.10.2"
    python examples/jax_flow.py [--length 1024]

A task is a training step as anybody would write it, with scores of length x length. Where it runs
it is conducted, and compiled once; weights stay on the device from task to task.
"""

from __future__ import annotations

import argparse

import jax
import jax.numpy as jnp
from jax import Array

from orchestrator_prefect import jax_task, optimized_flow

WIDTH = 32
SIZES = (1.0, 10.0, 100.0)
STEPS = 3

Weights = dict[str, Array]


def loss(weights: Weights, tokens: Array) -> Array:
    """How far attention is from giving back each token's predecessor; (length, WIDTH) tokens."""
    q, k, v = (tokens @ weights[name] for name in "qkv")
    scores = q @ k.T / jnp.sqrt(WIDTH)
    causal = jnp.tril(jnp.ones(scores.shape, bool))
    found = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)) @ v
    return jnp.mean((found[1:] - tokens[:-1]) ** 2)


@jax_task
def train(weights: Weights, tokens: Array, size: float) -> Weights:
    """A step of gradient descent."""
    down = jax.grad(loss)(weights, tokens)
    return jax.tree.map(lambda w, d: w - size * d, weights, down)


@jax_task
def judge(weights: Weights, tokens: Array) -> Array:
    """The loss."""
    return loss(weights, tokens)


def start(length: int) -> tuple[Weights, Array]:
    """Weights before training, and tokens."""
    keys = jax.random.split(jax.random.key(0), 4)
    weights = {
        name: jax.random.normal(key, (WIDTH, WIDTH)) / 6
        for name, key in zip("qkv", keys[:3], strict=True)
    }
    return weights, jax.random.normal(keys[3], (length, WIDTH))


@optimized_flow(cluster_kwargs={"n_workers": 2, "threads_per_worker": 1})
def sweep(length: int) -> dict[float, float]:
    """The loss after training, by step size."""
    begin, tokens = start(length)
    losses = {}
    for size in SIZES:
        weights = begin
        for _ in range(STEPS):
            weights = train.submit(weights, tokens, size)
        losses[size] = judge.submit(weights, tokens)
    return {size: float(future.result()) for size, future in losses.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--length", type=int, default=1024, help="tokens (default: 1024)")
    length = parser.parse_args().length
    losses = sweep(length)
    print(train.fn.explain(*start(length), SIZES[0]))
    for size, left in losses.items():
        print(f"step size {size:<5} loss {left:.4f}")
    print(f"best: {min(losses, key=lambda size: losses[size])}")
