"""Programs that look the same are one; those that differ in anything that counts are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.alike import Shared, looks
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Value

X = np.ones((3, 3), "float32")


def nodes_of(function: Any, *args: Any) -> tuple[Node, ...]:
    return read(jax.make_jaxpr(function)(*args)).nodes


LAYERS = {
    "another number": lambda x: (x * 2, x * 3),
    "a zero of another sign": lambda x: (x * 0.0, x * -0.0),
    "another axis": lambda x: (jnp.sum(x, 0), jnp.sum(x, 1)),
    "another order": lambda x: (x - x.T, x.T - x),
    "one value twice": lambda x: (x - x, x - x.T),
    "another type": lambda x: (x.astype("int32"), x.astype("bool")),
}


def about(output: Any, nodes: Sequence[Node]) -> list[Node]:
    """All that an output needs, in order."""
    wanted, found = {output}, []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            found.append(node)
            wanted.update(each for each in node.inputs if isinstance(each, Value))
    return found[::-1]


@pytest.mark.parametrize("name", LAYERS)
def test_what_differs_looks_different(name: str) -> None:
    graph = read(jax.make_jaxpr(LAYERS[name])(X))
    one, other = (about(each, graph.nodes) for each in graph.outputs)
    assert looks(one) != looks(other)
    again = read(jax.make_jaxpr(LAYERS[name])(X))
    assert looks(one) == looks(about(again.outputs[0], again.nodes))


def test_bits_are_drawn_otherwise_under_other_settings() -> None:
    def drawn() -> Node:
        key = jax.random.key(0)
        return nodes_of(lambda k: jax.random.bits(k, (4,)), key)[-1]

    with jax.threefry_partitionable(False):
        before = drawn()
    with jax.threefry_partitionable(True):
        after, twin = drawn(), drawn()
    assert looks(before) != looks(after)
    assert looks(twin) == looks(after)


def test_equal_layers_are_traced_once() -> None:
    traced = []

    def layer(scale: float) -> Any:
        def apply(arrays: Sequence[Any]) -> list[Any]:
            traced.append(scale)
            return [scale * arrays[0]]

        return apply

    aval = jax.typeof(X)
    shared = Shared()
    nodes = [
        shared.of(Node("program", (Value(aval),), (Value(aval),), layer(scale)), scale)
        for scale in (2.0, 2.0, 3.0, 2.0)
    ]

    def run(x: Any) -> Any:
        for node in nodes:
            (x,) = node.apply([x])
        return x

    np.testing.assert_array_equal(jax.jit(run)(X), 24 * X)
    assert traced == [2.0, 3.0]
