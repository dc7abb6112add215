"""Attention with its gradients, and steps of training."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.cases.transformers import train_step
from tests.benchmarks.conductor.gpu.attention import HEADS, D, Function, causal, cudnn, drawn, naive
from tests.benchmarks.conductor.gpu.measuring import (
    against_plain,
    compiled,
    errors,
    in_turns,
    planned,
)
from tests.benchmarks.conductor.gpu.row import GpuRow

SHORTER = 4096
"""Positions where gradients are taken."""


def squares(attention: Function) -> Any:
    """Something to take gradients of."""

    def loss(*arrays: Array) -> Array:
        return jnp.sum(attention(*arrays).astype(jnp.float32) ** 2)

    return jax.value_and_grad(loss, (0, 1, 2))


def gradients_against_cudnn(name: str, asked: float, rounds: int) -> GpuRow:
    """Each in the order of heads and positions that it is used to."""
    given = [drawn(1, HEADS, SHORTER, D, seed=k) for k in range(3)]
    ours, took = planned(squares(partial(naive, causal)), *given)
    turned = [jnp.swapaxes(each, 1, 2) for each in given]
    theirs = compiled(squares(cudnn), *turned)
    mine, other = in_turns([partial(ours, *given), partial(theirs, *turned)], rounds)
    exact = [jnp.swapaxes(each, 1, 2) for each in theirs(*turned)[1]]
    off = errors(exact, list(ours(*given)[1]))
    return GpuRow(name, asked, other / mine, off, mine, other, planned=took)


def gradients_against_plain(
    attention: Function, heads_first: bool, name: str, asked: float, rounds: int
) -> GpuRow:
    shape = (1, HEADS, SHORTER, D) if heads_first else (1, SHORTER, HEADS, D)
    arrays = [drawn(*shape, seed=k) for k in range(3)]
    return against_plain(squares(attention), arrays, name, asked, rounds)


def step_of_training(in_a_loop: bool, name: str, asked: float, rounds: int) -> GpuRow:
    """A step of a GPT in bfloat16; in a loop its layers are computed again for their gradients."""
    function, args = train_step(4, 2048, in_a_loop=in_a_loop, again=in_a_loop, d=512)
    return against_plain(function, jax.tree.map(_narrow, list(args)), name, asked, rounds)


def _narrow(array: Any) -> Array:
    made = jnp.asarray(array)
    return made.astype("bfloat16") if jnp.issubdtype(made.dtype, jnp.floating) else made
