"""Graphs: read from jaxprs, and back."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.evaluate import evaluate, traced
from orchestrator_core.conductor.ir.graph import Graph, in_order
from orchestrator_core.conductor.ir.read import read


def graph_of(function, *args) -> Graph:
    return read(jax.make_jaxpr(function)(*args))


def test_calls_are_opened_and_the_dead_is_dropped() -> None:
    def function(x):
        jnp.sin(x)  # nobody reads it
        return jax.jit(lambda y: jax.nn.relu(y) + 1)(x)

    assert [node.name for node in graph_of(function, 1.0).nodes] == ["max", "add"]


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_a_polynomial_keeps_its_bits(count: int) -> None:
    """An operation of its own from JAX 0.12 on, a loop before, and there of many terms as well."""

    def function(factors, x):
        return jnp.polyval(factors, x)

    factors, x = (
        np.linspace(-1, 2, count, dtype=np.float32),
        np.float32([[0.1, -3, 2e3], [0, 1, 7]]),
    )
    graph = graph_of(function, factors, x)
    (again,) = jax.jit(lambda *arrays: evaluate(graph, arrays))(factors, x)
    assert again.tobytes() == jax.jit(function)(factors, x).tobytes()


def test_a_polynomial_of_few_terms_is_no_operation_of_its_own() -> None:
    graph = graph_of(jnp.polyval, np.ones(5, np.float32), np.ones(3, np.float32))
    assert "polynomial" not in [node.name for node in graph.nodes]


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_unstacked_is_sliced(axis: int) -> None:
    def function(x):
        first, *_, last = jnp.unstack(x, axis=axis)
        return first - last

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    graph = graph_of(function, x)
    assert {node.name for node in graph.nodes} == {"slice", "squeeze", "sub"}
    (again,) = evaluate(graph, [x])
    assert np.array_equal(again, function(x))


def test_a_donated_argument_keeps_its_call() -> None:
    inner = jax.jit(lambda y: y + 1, donate_argnums=0)
    assert [node.name for node in graph_of(lambda x: inner(2 * x), 1.0).nodes] == ["mul", "jit"]


def test_a_checkpoint_in_a_backward_pass_keeps_its_barrier() -> None:
    graph = graph_of(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))), 1.0)
    assert "optimization_barrier" in [node.name for node in graph.nodes]


def test_loops_have_bodies() -> None:
    def function(x):
        x, _ = jax.lax.scan(lambda c, _: (c * 2, None), x, length=3)
        x = jax.lax.while_loop(lambda c: c < 9, lambda c: c + 1, x)
        return jax.lax.cond(x > 3, lambda c: c, lambda c: -c, x)

    graph = graph_of(function, 1.0)
    assert [len(node.bodies) for node in graph.nodes if node.bodies] == [1, 2, 2]
    inside = [node.name for owner, node in graph.walk() if owner is not graph]
    assert sorted(inside) == ["add", "lt", "mul", "neg"]
    (value,) = evaluate(graph, [jnp.float32(1.0)])
    assert value == 9.0


def test_it_is_traced_back_to_the_same_jaxpr() -> None:
    def function(x):
        return jnp.exp(x) @ x + jnp.tanh(x)

    x = jnp.ones((3, 3))
    graph = graph_of(function, x)
    again = read(traced(graph))
    assert [n.name for n in again.nodes] == [n.name for n in graph.nodes]
    np.testing.assert_array_equal(evaluate(again, [x])[0], jax.jit(function)(x))


def test_nodes_are_sorted_and_circles_refused() -> None:
    graph = graph_of(lambda x: jnp.cos(jnp.sin(x)) + jnp.sin(x), 1.0)
    assert in_order(graph.nodes) == graph.nodes
    back = in_order(graph.nodes[::-1])
    done = set(graph.inputs)
    for node in back:
        assert done.issuperset(node.inputs)
        done.update(node.outputs)


def test_a_source_line_is_kept() -> None:
    graph = graph_of(lambda x: jnp.sin(x), 1.0)
    assert "test_graph.py" in graph.nodes[0].source


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
def test_bytes_of_a_value(dtype: str) -> None:
    graph = graph_of(lambda x: x, jnp.zeros((3, 5), dtype))
    assert graph.inputs[0].nbytes == 15 * jnp.zeros((), dtype).nbytes
