"""Attention without gradients."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tests.benchmarks.conductor.gpu.attention import (
    HEADS,
    LENGTH,
    D,
    Function,
    cudnn,
    heads_last,
    naive,
    queries_keys_values,
)
from tests.benchmarks.conductor.gpu.measuring import (
    against_plain,
    compiled,
    error,
    in_turns,
    planned,
)
from tests.benchmarks.conductor.gpu.row import GpuRow


def pairs(window: int) -> float:
    """Of queries and keys that a causal mask, or a window, leaves."""
    short = min(window, LENGTH)
    return short * (short + 1) / 2 + (LENGTH - short) * short


def against_cudnn(scores: Any, window: int, name: str, asked: float, rounds: int) -> GpuRow:
    """Rates of work, since cuDNN's is that of a causal mask."""
    q, k, v = queries_keys_values()
    function = partial(naive, scores)
    ours, took = planned(function, q, k, v)
    other_way = [jnp.swapaxes(each, 1, 2) for each in (q, k, v)]
    theirs = compiled(cudnn, *other_way)
    mine, other = in_turns([partial(ours, q, k, v), partial(theirs, *other_way)], rounds)
    flops = 4 * HEADS * D * pairs(window)
    rate, their_rate = flops / mine, 4 * HEADS * D * pairs(LENGTH) / other
    off = error(_last_rows(function, q, k, v), ours(q, k, v)[:, :1, -256:])
    return GpuRow(name, asked, rate / their_rate, off, mine, other, rate / 1e12, planned=took)


def _last_rows(function: Function, q: Array, k: Array, v: Array) -> Array:
    """Of the first head, in float32: what all heads need would not fit into memory."""
    first = (each[:, :1].astype(jnp.float32) for each in (q, k, v))
    return jax.jit(function)(*first)[:, :, -256:]


def against_naive(scores: Any, name: str, asked: float, rounds: int) -> GpuRow:
    arrays = queries_keys_values()
    row = against_plain(partial(naive, scores), arrays, name, asked, rounds)
    assert row.ours is not None
    return replace(row, tera_flops=4 * HEADS * D * pairs(LENGTH) / row.ours / 1e12)


def against_cudnn_heads_last(scores: Any, name: str, asked: float, rounds: int) -> GpuRow:
    given = [jnp.swapaxes(each, 1, 2) for each in queries_keys_values()]
    function = partial(heads_last, scores)
    (ours, took), theirs = planned(function, *given), compiled(cudnn, *given)
    mine, other = in_turns([partial(ours, *given), partial(theirs, *given)], rounds)
    exact = _last_rows(partial(naive, scores), *queries_keys_values())
    off = error(exact, jnp.swapaxes(ours(*given), 1, 2)[:, :1, -256:])
    rate = 4 * HEADS * D * pairs(LENGTH) / mine
    return GpuRow(name, asked, other / mine, off, mine, other, rate / 1e12, planned=took)
