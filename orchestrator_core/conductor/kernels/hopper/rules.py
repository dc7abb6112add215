"""What is done between two products, on arrays that a group of warps holds in registers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.name import APPROXIMATE_TANH
from orchestrator_core.conductor.kernels.squeezed import RULES, Rule
from orchestrator_core.conductor.refused import Refused


def rules(rows: int) -> Mapping[str, Rule]:
    """By primitive.

    Args:
        rows: of a tile.
    """
    return {
        **RULES,
        "iota": functools.partial(_iota, rows),
        "tanh": _tanh,
        APPROXIMATE_TANH: _approximate_tanh,
        "dot_general": _no_product,
        "is_finite": _is_finite,
        "not": _not,
        "reduce_and": functools.partial(_of_truths, jnp.min),
        "reduce_or": functools.partial(_of_truths, jnp.max),
    }


def _iota(rows: int, node: Node, arrays: list[Any]) -> Any:
    shape, axis, dtype = node.output.shape, node.params["dimension"], node.output.dtype
    axes = [k for k, size in enumerate(shape) if size != 1]
    held = tuple(shape[k] for k in axes)
    if axis not in axes:
        raise Refused("positions along an axis of one element")
    counted = mosaic.counted(np.int32, held, axes.index(axis), rows)
    return counted.astype(np.float32 if jnp.issubdtype(dtype, jnp.floating) else dtype)


def _tanh(node: Node, arrays: list[Any]) -> Any:
    """By an exponential, off by some 1e-7 of one; what the GPU has for it is off by 2^-11."""
    grown = jnp.exp2(arrays[0] * np.float32(2 * math.log2(math.e)))
    return 1 - 2 / (1 + grown)


def _approximate_tanh(node: Node, arrays: list[Any]) -> Any:
    return jnp.tanh(arrays[0])


def _is_finite(node: Node, arrays: list[Any]) -> Any:
    return jnp.abs(arrays[0]) < np.float32(np.inf)


def _not(node: Node, arrays: list[Any]) -> Any:
    if node.output.dtype != np.bool_:
        raise Refused("bits of whole numbers")
    return jnp.where(arrays[0], np.float32(0), np.float32(1)) > np.float32(0.5)


def _of_truths(of: Callable[..., Any], node: Node, arrays: list[Any]) -> Any:
    """By numbers, since groups of warps sum nothing else."""
    shape = node.inputs[0].shape
    axes = [k for k, size in enumerate(shape) if size != 1]
    taken = [axes.index(k) for k in node.params["axes"] if shape[k] != 1]
    if not taken:
        return arrays[0]
    made = jnp.where(arrays[0], np.float32(1), np.float32(0))
    return of(made, axis=tuple(taken)) > np.float32(0.5)


def _no_product(node: Node, arrays: list[Any]) -> Any:
    raise Refused("a third product")
