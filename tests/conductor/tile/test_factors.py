"""Factors are written in the order in which XLA's library multiplies them rightly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Goal
from orchestrator_core.conductor.conduct import Conducted
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.tile.factors import with_factors_in_order
from tests.conductor.corpus.examine import x64

CPU, GPU = known_device("a test's", "cpu"), known_device("NVIDIA H200", "gpu")


def later_first(g: Any, c: Any, a: Any) -> Any:
    """Off by as much as it is large where jaxlib 0.10.2 compiles it for a CPU."""
    return (g[None] * -c[:, None]).sum(2)[..., None] * a * 1.3


def earlier_first(g: Any, c: Any, a: Any) -> Any:
    return a * (-c[:, None] * g[None]).sum(2)[..., None] * 1.3


def dividend_later(g: Any, c: Any, a: Any) -> Any:
    """A quotient is a product to XLA, of the dividend and the reciprocal."""
    return (g[None] / (c[:, None] ** 2 + 0.5)).sum(2)[..., None] * a * 1.3


def in_a_loop(g: Any, c: Any, a: Any) -> Any:
    return lax.scan(lambda total, _: (total + later_first(g, c, a), None), a, length=2)[0]


def arrays(n: int = 64, d: int = 24) -> list[Any]:
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=s), "float32") for s in ((n, d), (n, d), (n, n, d))]


def graph_of(function: Callable[..., Any]) -> Graph:
    return read(jax.make_jaxpr(lambda *x: [function(*x)])(*arrays()))


@pytest.mark.parametrize("function", [later_first, dividend_later, in_a_loop])
def test_in_this_order_compiled_products_are_right(function: Callable[..., Any]) -> None:
    with on_device(CPU):
        made = with_factors_in_order(graph_of(function))
    with jax.disable_jit():
        expected = function(*arrays())
    (found,) = jax.jit(lambda *given: evaluate(made, given))(*arrays())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_all_that_is_rewritten_has_them_in_order() -> None:
    """Not tiles alone."""
    with on_device(CPU):
        made, _ = rewritten(graph_of(later_first), Goal(always=True, allow=frozenset({"algebra"})))
    with jax.disable_jit():
        expected = later_first(*arrays())
    (found,) = jax.jit(lambda *given: evaluate(made, given))(*arrays())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_quotients_are_the_same_in_every_bit(dtype: str) -> None:
    def quotient(g: Any, c: Any, a: Any) -> Any:
        return g[None] / c[:, None]

    with x64() if dtype == "float64" else contextlib.nullcontext():
        given = [each.astype(dtype) for each in arrays()]
        graph = read(jax.make_jaxpr(lambda *x: [quotient(*x)])(*given))
        with on_device(CPU):
            made = with_factors_in_order(graph)
        assert [node.name for node in made.nodes if node.name in ("div", "mul")] == ["div", "mul"]
        (found,) = jax.jit(lambda *x: evaluate(made, x))(*given)
        np.testing.assert_array_equal(found, jax.jit(quotient)(*given))


@pytest.mark.parametrize("dtype", ["int32", "float16"])
def test_what_the_library_does_not_know_is_divided(dtype: str) -> None:
    numbers = np.arange(1, 7).astype(dtype)
    graph = read(jax.make_jaxpr(lambda x: [x[None] // 2 + lax.div(*spread(x))])(numbers))
    with on_device(CPU):
        assert with_factors_in_order(graph) is graph


def spread(x: Any) -> tuple[Any, Any]:
    """Along the first axis and along the second."""
    return jnp.broadcast_to(x[None], (len(x), len(x))), jnp.broadcast_to(x[:, None], (len(x),) * 2)


@pytest.mark.parametrize(
    ("function", "device"), [(earlier_first, CPU), (later_first, GPU), (in_a_loop, GPU)]
)
def test_what_is_in_order_stays_the_graph_that_it_is(
    function: Callable[..., Any], device: Any
) -> None:
    graph = graph_of(function)
    with on_device(device):
        assert with_factors_in_order(graph) is graph


@pytest.mark.parametrize("objective", ["time", "memory"])
def test_gradients_of_quotients_of_each_pair_are_right(objective: str) -> None:
    """Dipoles that are seen through a width of each point's own."""
    n, d = 512, 16

    def seen(x: Any, y: Any, v: Any, h: Any) -> Any:
        apart = x[:, None] - y[None]
        near = jnp.exp(-jnp.square(apart).sum(-1) / 8) * (v[None] / h[:, None]).sum(-1)
        return jnp.sin((near[..., None] * apart / 1.3).sum(1)).sum()

    rng = np.random.default_rng(5)
    given = [*(rng.normal(size=(n, d)) for _ in range(3)), 0.5 + rng.random((n, d))]
    assert_right(jax.grad(seen, (0, 1, 2, 3)), given, objective)


@pytest.mark.parametrize("objective", ["time", "memory"])
def test_gradients_of_smoothers_of_one_pair_each_are_right(objective: str) -> None:
    """Two maps over points, as in Stein variational gradient descent: tiles of their gradients have
    had such products, which XLA made wrong there and right in the whole."""
    n, d = 512, 16

    def smoothed(x: Any, y: Any, g: Any, s: Any) -> Any:
        def of_pair(x: Any, y: Any, g: Any) -> Any:
            return g * jnp.exp(-0.5 * jnp.square((y - x) / s).sum())

        def at(x: Any) -> Any:
            return jax.vmap(lambda y, g: of_pair(x, y, g))(y, g).mean(0)

        return jnp.sin(jax.vmap(at)(x) * jnp.cos(jnp.arange(n * d).reshape(n, d))).sum()

    rng = np.random.default_rng(1)
    given = [*(0.3 * rng.normal(size=(n, d)) for _ in range(3)), np.asarray(1.3)]
    assert_right(jax.grad(smoothed, (0, 1, 2, 3)), given, objective)


def assert_right(gradient: Callable[..., Any], given: list[Any], objective: str) -> None:
    """Of a function that is changed."""
    conducted = Conducted(gradient, Goal(objective=objective))
    single = [np.float32(each) for each in given]
    assert any(s.is_changed for s in conducted.traced(tuple(single), {})[1].program.sites)
    with x64():
        exact = jax.jit(gradient)(*(np.float64(each) for each in single))
    for found, right in zip(conducted(*single), exact, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-5 * np.abs(right).max())
