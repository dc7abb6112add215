"""Conduct: causal attention as anybody would write it, and its training step, without S x S arrays.

    pip install "jax>=0.10.2"
    python examples/conduct.py [--length 2048]

Prints what was found and done, and the temporary memory of both versions as XLA counts it.
"""

from __future__ import annotations

import argparse

import jax
import jax.numpy as jnp
from jax import Array

from orchestrator_core.conductor import conduct


def attention(q: Array, k: Array, v: Array) -> Array:
    """(batch, length, heads, d) queries, keys and values."""
    length = q.shape[1]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def loss(q: Array, k: Array, v: Array) -> Array:
    return jnp.mean(attention(q, k, v) ** 2)


def main(length: int) -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    q, k, v = (jax.random.normal(key, (1, length, 4, 64)) for key in keys)
    plain = jax.value_and_grad(loss, argnums=(0, 1, 2))
    ours = conduct(plain)  # the gradient is inside: the backward pass is tiled as well

    print(ours.explain(q, k, v))
    for name, function in (("plain", plain), ("conducted", ours)):
        compiled = jax.jit(function).lower(q, k, v).compile()
        held = compiled.memory_analysis().temp_size_in_bytes
        print(f"{name:<10} {held / 1e6:8.1f} MB of temporary memory")

    expected, found = jax.jit(plain)(q, k, v), ours(q, k, v)
    largest = max(
        float(jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(a)))
        for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True)
    )
    print(f"{'difference':<10} {largest:8.0e} of the largest value")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--length", type=int, default=2048, help="tokens (default: 2048)")
    main(parser.parse_args().length)
