"""Products of squeezed arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.held import held_type, wide, without_end
from orchestrator_core.conductor.refused import Refused

LEAST_SIDE = 16
"""Of a matrix product on tensor cores."""

MOST_ELEMENTS = 2**14
"""Of a value that a program holds."""


def product(node: Node, arrays: list[Any]) -> Any:
    """On tensor cores if it is one of two large matrices, else element by element."""
    sides = Sides.of(node)
    factors = [_Factor.of(node, side, arrays[side], sides) for side in (0, 1)]
    left, right = factors
    is_plain = not left.batch and all(len(f.free) == len(f.inner) == 1 for f in factors)
    is_large = is_plain and min(*left.array.shape, *right.array.shape) >= LEAST_SIDE
    if is_large and _has_summing_type(node):
        return _on_tensor_cores(node, left, right)
    return _by_elements(node, left, right)


@dataclass(frozen=True)
class _Factor:
    """An operand of a product, and which of its axes are paired, contracted, or neither."""

    array: Any
    batch: tuple[int, ...]
    inner: tuple[int, ...]
    free: tuple[int, ...]

    @classmethod
    def of(cls, node: Node, side: int, array: Any, sides: Sides) -> _Factor:
        shape = node.inputs[side].shape
        held = [k for k, size in enumerate(shape) if size != 1]
        batch, inner, free = (
            tuple(held.index(k) for k in axes[side] if shape[k] != 1)
            for axes in (sides.batch, sides.contracted, sides.free)
        )
        for axis in inner:
            array = without_end(array, axis, shape[held[axis]], 0.0)
        return cls(array, batch, inner, free)

    def laid(self, before: int, after: int) -> Any:
        """With its axes in the order batch, `before` ones, free, `after` ones, contracted."""
        order = (*self.batch, *self.free, *self.inner)
        array = wide(self.array)
        array = array if order == tuple(sorted(order)) else lax.transpose(array, order)
        first, last = len(self.batch), len(self.batch) + len(self.free)
        new = [*range(first, first + before), *range(last + before, last + before + after)]
        return jnp.expand_dims(array, new)


def _is_whole(node: Node) -> bool:
    return not jnp.issubdtype(node.output.dtype, jnp.inexact)


def _has_summing_type(node: Node) -> bool:
    """Tensor cores sum whole numbers in 32 bits, and there are no such sums of truth values."""
    dtype = np.dtype(node.output.dtype)
    return not _is_whole(node) or (dtype != np.bool_ and dtype.itemsize <= 4)


def _on_tensor_cores(node: Node, left: _Factor, right: _Factor) -> Any:
    dtype = jnp.promote_types(node.inputs[0].dtype, node.inputs[1].dtype)
    out = node.output.dtype
    summed = np.dtype(np.int32) if _is_whole(node) else jnp.promote_types(out, jnp.float32)
    made = lax.dot_general(
        left.array.astype(dtype),
        right.array.astype(dtype),
        ((left.inner, right.inner), ((), ())),
        precision=node.params["precision"],
        preferred_element_type=summed,
    )
    return made.astype(out) if _is_whole(node) else made


def _by_elements(node: Node, left: _Factor, right: _Factor) -> Any:
    """In the type of the result, as the products of narrow whole numbers do not fit into theirs."""
    dtype = held_type(node.output.dtype)
    one = left.laid(0, len(right.free))
    two = right.laid(len(left.free), 0)
    shape = np.broadcast_shapes(one.shape, two.shape)
    if math.prod(shape) > MOST_ELEMENTS:
        raise Refused("a product that tensor cores cannot do, of too many elements")
    one, two = (each.astype(jnp.promote_types(each.dtype, dtype)) for each in (one, two))
    made = jnp.broadcast_to(one, shape) * jnp.broadcast_to(two, shape)
    inner = tuple(range(len(shape) - len(left.inner), len(shape)))
    return (jnp.sum(made, axis=inner) if inner else made).astype(dtype)
