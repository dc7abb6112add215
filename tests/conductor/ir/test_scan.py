"""Scans taken apart and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.loops import with_bodies
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan, stacked
from orchestrator_core.conductor.ir.value import Value

X, W = jnp.arange(12.0).reshape(4, 3), jnp.eye(3) / 2


def function(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.lax.scan(lambda c, row: (c @ w + row, c.sum()), x[0], x, reverse=True)


def named(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    with jax.named_scope("of the user"):
        return function(x, w)


def the_scan() -> tuple[Graph, Scan]:
    graph = read(jax.make_jaxpr(function)(X, W))
    return graph, next(Scan.of(node) for node in graph.nodes if node.name == "scan")


def with_scan(graph: Graph, scan: Scan) -> Graph:
    return graph.with_nodes(scan.node() if node.name == "scan" else node for node in graph.nodes)


def test_its_parts_are_named_as_the_body_knows_them() -> None:
    _, scan = the_scan()
    assert (scan.length, scan.reverse, scan.unroll) == (4, True, 1)
    assert [each.shape for each in scan.const_inputs] == [(3, 3)]
    assert [each.shape for each in scan.carry_inputs] == [(3,)]
    assert [each.shape for each in scan.x_inputs] == [(3,)]
    assert [each.shape for each in scan.carry_outputs] == [(3,)]
    assert [each.shape for each in scan.y_outputs] == [()]


def test_it_is_the_same_when_put_together() -> None:
    graph, scan = the_scan()
    for one, other in zip(function(X, W), evaluate(with_scan(graph, scan), [X, W]), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "made_again",
    [lambda node: Scan.of(node).node(), lambda node: with_bodies(node, node.bodies)],
    ids=["the scan", "its body"],
)
def test_the_names_that_it_was_given_stay(made_again: Callable[[Node], Node]) -> None:
    graph = read(jax.make_jaxpr(named)(X, W))
    made = graph.with_nodes(
        made_again(node) if node.name == "scan" else node for node in graph.nodes
    )
    lowered = jax.jit(lambda *each: evaluate(made, each)).lower(X, W).as_text(debug_info=True)
    (loop,) = [line for line in lowered.splitlines() if '/while"' in line]
    assert "of the user" in loop


def test_it_may_stack_more() -> None:
    """The carry that each step gets, at the step's index."""
    graph, scan = the_scan()
    (carry,) = scan.carry_inputs
    stack = stacked(carry, scan.length)
    body = dataclasses.replace(scan.body, outputs=(*scan.body.outputs, carry))
    more = dataclasses.replace(scan, ys=(*scan.ys, stack), body=body)
    outputs: tuple[Value, ...] = (*scan.ys, stack)
    sums, carries = evaluate(with_scan(dataclasses.replace(graph, outputs=outputs), more), [X, W])
    np.testing.assert_array_equal(carries.sum(-1), sums)
    np.testing.assert_array_equal(carries[-1], X[0])
