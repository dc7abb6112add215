"""A function and its pullback share the forward pass; derivatives stay those of the original."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.conducted_call import _call
from tests.conductor.toys import exponentials, install

X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 6)), "float32")
W = jnp.asarray(np.random.default_rng(1).normal(size=(6, 6)), "float32")

plain = functools.partial(conduct, allow=())


def model(x: jax.Array, w: jax.Array) -> jax.Array:
    """Products, exponentials, and cheap steps between them."""
    for _ in range(2):
        y = jnp.exp(-jnp.square(x @ w) * 0.1)
        x = jnp.where(y > 0.5, y, 2 * y) + x
    return jnp.log(1 + jnp.exp(x)).sum()


def close(a: Any, b: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), a, b)


def crossing(function: Callable[..., Any], *args: Any) -> int:
    """Bytes that are kept from the forward to the backward pass, beside the inputs."""
    pull = jax.vjp(function, *args)[1]
    inputs = {x.unsafe_buffer_pointer() for x in jax.tree.leaves(args)}
    kept = {x.unsafe_buffer_pointer(): x.nbytes for x in jax.tree.leaves(pull) if x.size > 1}
    return sum(size for place, size in kept.items() if place not in inputs)


def products(function: Callable[..., Any], *args: Any) -> int:
    return str(jax.jit(function).lower(*args).as_text()).count("stablehlo.dot_general")


def test_the_forward_pass_is_evaluated_once() -> None:
    assert products(jax.grad(model, (0, 1)), X, W) == 6
    assert products(jax.grad(plain(model), (0, 1)), X, W) == 6


@pytest.mark.parametrize("objective", ["time", "memory"])
def test_no_more_is_kept_than_jax_keeps(objective: str) -> None:
    ours = crossing(plain(model, objective=objective), X, W)
    assert ours <= crossing(jax.jit(model), X, W)


def test_for_memory_less_is_kept() -> None:
    kept = {each: crossing(plain(model, objective=each), X, W) for each in ("time", "memory")}
    assert kept["memory"] < kept["time"]
    # Of each layer the product.
    assert kept["memory"] == 2 * X.nbytes


def test_a_scan_of_layers_keeps_less() -> None:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        y = jnp.tanh(x @ w)
        return x + jnp.where(y > 0, y, 2 * y) * jnp.exp(-y)

    def kept(layer: Callable[..., Any]) -> int:
        run = jax.jit(lambda x, ws: jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0])
        return crossing(run, X, jnp.stack([W] * 3))

    jax_keeps, time, memory = kept(layer), kept(plain(layer)), kept(plain(layer, memory="1GB"))
    assert memory < time < jax_keeps
    # Of each layer what it takes, and its product.
    assert memory <= 3 * 2 * X.nbytes


@pytest.mark.parametrize(
    "transform",
    [
        jax.grad,
        jax.hessian,
        lambda f: jax.jacrev(jax.jacrev(f)),
        lambda f: jax.vmap(jax.grad(f), (0, None)),
        lambda f: jax.grad(lambda x, w: jax.vmap(f, (0, None))(x, w).sum()),
        lambda f: jax.jacfwd(jax.vmap(jax.grad(f), (0, None))),
        lambda f: jax.grad(jax.checkpoint(f)),
        lambda f: lambda x, w: jax.jvp(jax.grad(f), (x, w), (x, w)),
        lambda f: lambda x, w: jax.linearize(f, x, w)[1](x, w),
    ],
    ids=[
        *("grad", "hessian", "reverse-reverse", "vmap-grad", "grad-vmap", "jacfwd-vmap-grad"),
        *("grad-checkpoint", "jvp-grad", "linearize"),
    ],
)
def test_rewritten_code_is_never_differentiated(
    transform: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = jax.jit(transform(model))(X[:2], W)
    install(monkeypatch, tiling=exponentials)
    close(expected, jax.jit(transform(conduct(model)))(X[:2], W))


def test_layers_in_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tiling=exponentials)

    def layers(layer: Callable[..., Any], x: jax.Array, ws: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda x, w: (x + layer(x, w), None), x, ws)[0].sum()

    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.exp(jnp.sin(x @ w))

    ws = jnp.stack([W, 0.5 * W]) * 0.1
    for each in (jax.value_and_grad, jax.hessian):
        expected = jax.jit(each(functools.partial(layers, layer)))(X[:1], ws)
        close(expected, jax.jit(each(functools.partial(layers, conduct(layer))))(X[:1], ws))


def test_cotangents_that_nobody_gives_are_no_numbers() -> None:
    """With zeros in their place, NaN would come of them."""

    def function(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x.sum(), (jnp.sqrt(x), jnp.arange(3))[0]

    zero = jnp.zeros(3)
    loss = jax.grad(lambda x: plain(function)(x)[0])(zero)
    np.testing.assert_array_equal(loss, jnp.ones(3))
    other = jax.grad(plain(function), has_aux=True)(zero)[0]
    np.testing.assert_array_equal(other, jnp.ones(3))


def test_a_part_without_its_cotangent_is_not_computed() -> None:
    def two(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.sin(x).sum(), x @ w

    # That of the forward pass is there, until XLA drops it; its two transposes are not.
    assert products(jax.grad(lambda x, w: plain(two)(x, w)[0]), X, W) == 1


def test_linear_functions_and_pullbacks_are_transposed() -> None:
    close(jax.linear_transpose(plain(lambda x: 3 * x), X)(X), (3 * X,))
    pull = jax.vjp(plain(lambda x: 2 * jnp.sin(x)), X)[1]
    close(jax.linear_transpose(pull, X)((X,)), (2 * jnp.cos(X) * X,))


def test_loops_without_a_pullback_are_pushed_forward() -> None:
    def power(x: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x))[1]

    assert jax.jacfwd(plain(power))(2.0) == 32.0
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax.grad(plain(power))(2.0)


def test_where_jax_linearizes_by_pushing_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a JAX does that has no rules for it."""
    from jax._src.interpreters import ad

    monkeypatch.delitem(ad.primitive_linearizations, _call)
    close(jax.grad(model)(X, W), jax.grad(plain(model))(X, W))


def test_a_rewrite_that_mixes_both_passes_costs_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the pullback begins with a forward pass of its own."""

    def mixed(graph: Any, goal: Any) -> Any:
        import dataclasses

        from orchestrator_core.conductor.ir.evaluate import evaluate
        from orchestrator_core.conductor.ir.node import Node
        from orchestrator_core.conductor.ir.value import Value

        outputs = tuple(Value(each.aval) for each in graph.outputs)
        whole = Node("whole", graph.inputs, outputs, lambda arrays: evaluate(graph, arrays))
        return dataclasses.replace(graph, outputs=outputs, nodes=(whole,), constants={}), []

    install(monkeypatch, tiling=mixed)
    close(jax.value_and_grad(model)(X, W), jax.value_and_grad(conduct(model))(X, W))


def test_a_custom_pullback_that_is_wrong_stays_wrong() -> None:
    @jax.custom_vjp
    def double(x: jax.Array) -> jax.Array:
        return 2 * x

    double.defvjp(lambda x: (2 * x, x), lambda x, g: (7 * g * x,))
    close(jax.grad(plain(lambda x: double(x) * x))(3.0), 3 * 7 * 3.0 + 6.0)
