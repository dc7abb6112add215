"""New nodes of a graph, one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Literal, Value


class Building:
    """Attributes:
    nodes: that were made so far, in order.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def put(self, node: Node) -> Value:
        self.nodes.append(node)
        return node.output

    def bound(self, primitive: Any, inputs: Sequence[Atom], like: Value, params: Any) -> Value:
        return self.put(of_primitive(primitive, inputs, (Value(like.aval),), params))

    def like(self, node: Node, inputs: Sequence[Atom], shape: Sequence[int]) -> Value:
        """What the operation makes of other operands."""
        made = Value(node.output.aval.update(shape=tuple(shape)))
        return self.put(
            of_primitive(node.primitive, inputs, (made,), node.params, source=node.source)
        )

    def reshaped(self, given: Atom, shape: Sequence[int]) -> Atom:
        if tuple(shape) == given.shape:
            return given
        params = {"new_sizes": tuple(shape), "dimensions": None, "sharding": None}
        return self.bound(lax.reshape_p, (given,), _shaped(given, shape), params)

    def transposed(self, given: Atom, order: Sequence[int]) -> Atom:
        if tuple(order) == tuple(range(len(order))):
            return given
        made = _shaped(given, [given.shape[k] for k in order])
        return self.bound(lax.transpose_p, (given,), made, {"permutation": tuple(order)})

    def fitted(self, given: Atom, axis: int, low: int, size: int) -> Atom:
        """With so many zeros before its elements along an axis, or elements less, and of a size."""
        high = size - given.shape[axis] - low
        if low == high == 0:
            return given
        config = [(0, 0, 0)] * len(given.shape)
        config[axis] = (low, high, 0)
        params: Mapping[str, Any] = {"padding_config": tuple(config)}
        shape = [size if k == axis else full for k, full in enumerate(given.shape)]
        zero = Literal(np.zeros((), given.dtype)[()], _jax.ShapedArray((), given.dtype))
        return self.bound(lax.pad_p, (given, zero), _shaped(given, shape), params)

    def summed(self, parts: Sequence[Value]) -> Value:
        made, *others = parts
        for each in others:
            made = self.bound(lax.add_p, (made, each), made, {})
        return made


def _shaped(given: Atom, shape: Sequence[int]) -> Value:
    return Value(_jax.ShapedArray(tuple(shape), given.dtype))
