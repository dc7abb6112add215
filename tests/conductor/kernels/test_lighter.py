"""What is made lighter for kernels stays the same, and what might not stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels import squeezed
from orchestrator_core.conductor.kernels.lighter import lighter
from orchestrator_core.conductor.kernels.name import APPROXIMATE_TANH
from orchestrator_core.conductor.kernels.upright import upright
from orchestrator_core.conductor.tile.recipe import below_zero
from tests.conductor.kernels.interpreting import graph_of

X = jnp.asarray(np.random.default_rng(0).normal(size=(16, 32)), "float32")
ROW = X.max(1, keepdims=True)


def made(function: Callable[..., Any], *arrays: Any, most: int = 0) -> tuple[list[str], Any, Any]:
    """Names of what is done, what that makes, and what it made before."""
    graph = graph_of(function, list(arrays))
    positions = [value for value in graph.inputs if not value.shape]
    light = lighter(graph, dict.fromkeys(positions, most))
    held = [jnp.squeeze(each) for each in arrays]
    (found,) = squeezed.run(light, held, squeezed.INTERPRETED)
    return [node.name for node in light.nodes], found, function(*arrays)


def centred_twice(x: Any, row: Any) -> Any:
    return jnp.exp(x - row) * jnp.sum(jnp.exp(x - row), 1, keepdims=True)


@pytest.mark.parametrize(
    ("function", "arrays", "names"),
    [
        (lambda x: x / 3.0, [X], ["mul"]),
        (lambda x: x * 0.5 / jnp.sqrt(jnp.float32(7)) * 2.0, [X], ["mul"]),
        (lambda x: x / 0.0 + x / 1e38, [jnp.abs(X)], ["div", "div", "add"]),
        (lambda x: jnp.max(x * 3.0, 1), [X], ["reduce_max", "mul"]),
        (lambda x: jnp.max(x * -3.0, 1), [X], ["mul", "reduce_max"]),
        (lambda x: jnp.tanh(x), [X], ["tanh"]),
    ],
)
def test_fewer_instructions_make_the_same(
    function: Callable[..., Any], arrays: list[Any], names: list[str]
) -> None:
    done, found, exact = made(function, *arrays)
    assert done == names
    np.testing.assert_allclose(found, exact, rtol=2e-6)


def test_what_is_done_twice_is_done_once() -> None:
    done, found, exact = made(centred_twice, X, ROW)
    assert done.count("exp") == 1
    np.testing.assert_allclose(found, exact, rtol=2e-6)


def test_only_numbers_that_were_rounded_have_an_approximate_tanh() -> None:
    half = X.astype("bfloat16")
    done, found, exact = made(lambda x: 5 * jnp.tanh(x.astype("float32") / 5), half)
    assert APPROXIMATE_TANH in done
    np.testing.assert_allclose(found, exact, rtol=2e-6)  # the interpreter has the exact one
    summed, _, _ = made(lambda x: jnp.tanh(x.astype("float32") + 1.0), half)
    assert APPROXIMATE_TANH not in summed


def test_a_distance_is_of_real_positions() -> None:
    def function(first: Any) -> Any:
        i = first + jnp.arange(16, dtype=jnp.int32)[:, None]
        return (i - jnp.arange(32, dtype=jnp.int32)).astype(jnp.float32)

    done, found, exact = made(function, jnp.int32(64), most=4096)
    assert done.index("sub") > max(k for k, name in enumerate(done) if "convert" in name)
    np.testing.assert_array_equal(found, exact)
    far, found, exact = made(function, jnp.int32(2**25 + 1), most=2**26)
    assert far.index("sub") < far.index("convert_element_type")
    np.testing.assert_array_equal(found, exact)


def test_a_distance_that_a_type_cannot_hold_is_rounded_once() -> None:
    def function(first: Any) -> Any:
        i = first + jnp.arange(16, dtype=jnp.int32)[:, None]
        return (i - jnp.arange(32, dtype=jnp.int32)).astype(jnp.bfloat16)

    done, found, exact = made(function, jnp.int32(301), most=4096)
    assert done.index("sub") < done.index("convert_element_type")
    np.testing.assert_array_equal(found, exact)


@pytest.mark.parametrize(
    ("given", "is_guarded"),
    [
        (lambda x: jnp.where(x > 0, x, -1e30), False),
        (lambda x: jnp.tanh(x) * 30.0, False),
        (lambda x: (x > 0).astype(jnp.float32) * -1e30, True),
        (lambda x: x * x, True),
    ],
)
def test_a_difference_is_guarded_where_it_is_rounded_with_a_product(
    given: Callable[[Any], Any], is_guarded: bool
) -> None:
    """Of a huge one, as that of an added mask, what it is off by is huge."""

    def function(x: Any) -> Any:
        scores = given(x)
        return jnp.exp(below_zero(scores, jnp.max(scores, 1, keepdims=True)))

    done, found, exact = made(function, X)
    assert ("eq" in done) is is_guarded
    np.testing.assert_allclose(found, exact, rtol=1e-5)


def _names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_products_stand_upright() -> None:
    """With heads last, JAX multiplies the other way round and exchanges axes."""

    def function(p: Any, v: Any) -> Any:
        return jnp.einsum("bhij,bjhd->bihd", p, v)

    r = np.random.default_rng(1)
    p, v = (jnp.asarray(r.normal(size=s), "float32") for s in ((2, 3, 8, 16), (2, 16, 3, 4)))
    before = graph_of(function, [p, v])
    after = upright(before)
    (product,) = [node for node in after.nodes if node.name == "dot_general"]
    assert product.inputs == before.inputs
    assert product.output.shape == (2, 3, 8, 4)
    np.testing.assert_allclose(evaluate(after, [p, v])[0], function(p, v), rtol=1e-5, atol=1e-5)


def test_a_product_reads_what_was_there_before_its_axes_were_exchanged() -> None:
    def function(q: Any, k: Any) -> Any:
        return q @ k.mT

    q, k = X, X[:8]
    after = upright(graph_of(function, [q, k]))
    assert _names(after) == ["dot_general"]
    np.testing.assert_allclose(evaluate(after, [q, k])[0], function(q, k), rtol=1e-5, atol=1e-5)


def test_what_stands_upright_stays() -> None:
    graph = graph_of(lambda p, v: jnp.einsum("hij,hjd->hid", p, v), [X[None], X.mT[None]])
    assert upright(graph).nodes == graph.nodes
    assert jax.tree.leaves(graph.outputs) == jax.tree.leaves(upright(graph).outputs)


def test_a_row_that_is_masked_by_the_least_number_has_equal_weights() -> None:
    """Times the logarithm that number would be infinite."""
    least = float(jnp.finfo(jnp.float32).min)
    masked = jnp.where(jnp.arange(16)[:, None] < 4, least, X)

    def function(x: Any, largest: Any) -> Any:
        return jnp.exp(x - largest)

    _, found, exact = made(function, masked, masked.max(1, keepdims=True))
    np.testing.assert_array_equal(found[:4], 1.0)
    np.testing.assert_allclose(found, exact, rtol=2e-6)
