"""Plain attention and its gradient are recognised however they are written, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.kernels.attention import attentions_of
from orchestrator_core.conductor.kernels.cudnn.dispatch import dispatched, words_of
from orchestrator_core.conductor.kernels.cudnn.suited import unsuited
from orchestrator_core.conductor.kernels.numbers import with_numbers_inside
from orchestrator_core.conductor.loops.rewrite import loops
from tests.conductor.kernels.interpreting import assert_near, graph_of
from tests.conductor.kernels.spelled import (
    SPELLINGS,
    D,
    Function,
    S,
    arrays,
    assert_same,
    by_hand,
    causal,
    found,
    of,
    positions,
    two_layers,
    with_gradients,
)


@pytest.mark.parametrize("name", SPELLINGS)
def test_plain_attention(name: str) -> None:
    function, shape, words = SPELLINGS[name]
    given = arrays(*shape)
    graph, (attention,) = found(function, given)
    assert words in words_of(attention)
    assert [each.name for each in attention.made] == ["out"]
    assert_same(graph, attention, given)


@pytest.mark.parametrize("name", ["causal", "a maximum", "a window"])
def test_while_somebody_traces(name: str) -> None:
    function, shape, words = SPELLINGS[name]
    given, said = arrays(*shape), list[str]()

    def outside(x: Any) -> Any:
        said.extend(words_of(each) for each in found(function, given)[1])
        return x

    jax.jit(outside)(1.0)
    assert said == [words]


@pytest.mark.parametrize("name", SPELLINGS)
def test_its_gradients(name: str) -> None:
    function, shape, _ = SPELLINGS[name]
    given = arrays(*shape)
    graph, (attention,) = found(with_gradients(function), given)
    assert words_of(attention).endswith("with its gradient")
    assert [each.name for each in attention.made] == ["out", "q", "k", "v"]
    assert_same(graph, attention, given)
    left = dispatched(graph, attention)
    sizes = {value.size for node in left.nodes for value in node.outputs}
    assert attention.softmax.exponentials[0].size not in sizes


@pytest.mark.parametrize(("argument", "names"), [(0, "q"), (1, "k"), (2, "v"), ((0, 2), "qv")])
def test_some_of_its_gradients(argument: Any, names: str) -> None:
    given = arrays(2, 3, S, D)
    function = jax.grad(lambda *given: (of(causal)(*given) ** 2).sum(), argument)
    graph, (attention,) = found(function, given)
    assert [each.name for each in attention.made] == ["out", *names]
    assert_same(graph, attention, given)


def test_layers_in_a_loop_that_are_computed_again() -> None:
    """In the bodies of both loops, with what JAX made outside of them."""

    def layer(x: Any, w: Any) -> tuple[Any, None]:
        q, k, v = jnp.split(x @ w, 3, axis=-1)
        s = causal((q @ k.T) / jnp.sqrt(jnp.asarray(D, x.dtype)))
        return x + jax.nn.softmax(s) @ v, None

    def loss(x: Any, w: Any) -> Any:
        return (jax.lax.scan(jax.checkpoint(layer), x, w)[0] ** 2).sum()

    x, w = arrays(S, D)[0], arrays(3, D, 3 * D)[1]
    graph, _ = loops(graph_of(jax.value_and_grad(loss, (0, 1)), [x, w]), Goal(always=True))
    found = [
        attention
        for node in with_numbers_inside(graph).nodes
        for body in node.bodies
        for attention in attentions_of(body)
    ]
    assert [[each.name for each in made.made] for made in found] == [["out"], [*"qkv"]]
    made = with_numbers_inside(graph)
    assert_near(evaluate(made, [x, w]), evaluate(graph, [x, w]), 1e-6)


def test_what_is_computed_again_for_gradients() -> None:
    given = arrays(2, 3, S, D)

    @jax.checkpoint
    def block(*given: Any) -> Any:
        return of(causal)(*(jnp.sin(each) for each in given))

    graph, made = found(jax.grad(lambda *given: (block(*given) ** 2).sum(), (0, 1, 2)), given)
    assert sorted(name for each in made for name in {m.name for m in each.made}) in (
        ["k", "out", "q", "v"],
        ["k", "out", "out", "q", "v"],
    )
    for attention in made:
        assert_same(graph, attention, given)


def test_layers_that_look_the_same() -> None:
    """Each is taken, whatever is left of the others."""
    given = arrays(2, 3, S, D, dtype="bfloat16")

    graph, made = found(with_gradients(two_layers), given)
    assert len(made) == 2
    for attention in made:
        assert unsuited(graph, attention) == ""
        graph = dispatched(graph, attention)
    assert sum(node.name == "cudnn_attention" for node in graph.nodes) == 4
    exact = evaluate(graph_of(with_gradients(two_layers), given), given)
    assert_near(evaluate(graph, given), exact, 1e-6)


def rounded_positions() -> Any:
    """Of a type that counts to 16."""
    return jax.lax.iota(jnp.float8_e4m3fn, S)


@pytest.mark.parametrize(
    "function",
    [
        of(lambda s: 5 * jnp.tanh(s / 5)),
        of(lambda s: jnp.where(positions()[0] > positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] <= positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] + 1 >= positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] % 5 >= positions()[1] % 5, s, -jnp.inf)),
        of(lambda s: jnp.where(rounded_positions()[:, None] >= rounded_positions(), s, -jnp.inf)),
        of(lambda s: causal(s, -50.0)),
        of(lambda s: causal(s, 0.0)),
        of(lambda s: s, axis=-2),
        by_hand(lambda e: e / (e.sum(-1, keepdims=True) + 0.5)),
        by_hand(lambda e: e / jnp.swapaxes(e.sum(-1, keepdims=True), 0, 1)),
        by_hand(lambda e: e / (2 * e).sum(-1, keepdims=True)),
        by_hand(lambda e: 2 * e / e.sum(-1, keepdims=True) - 1),
        by_hand(lambda e: e * e / e.sum(-1, keepdims=True)),
    ],
)
def test_what_only_looks_like_it(function: Function) -> None:
    assert not found(function, arrays(3, 3, S, D))[1]


def _with_rule(backward: Callable[[Any, Any, Any], Any]) -> Function:
    """Attention whose weights have a gradient by a rule of the user's: of scores, given the
    weights, what multiplies these, and the gradient of the weights."""

    @jax.custom_vjp
    def weights(s: Any) -> Any:
        return jax.nn.softmax(s)

    def forward(s: Any) -> tuple[Any, Any]:
        e = jnp.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return p, p

    weights.defvjp(forward, lambda p, ct: (backward(p, ct, (p * ct).sum(-1, keepdims=True)),))
    return lambda q, k, v: weights(q @ k.mT) @ v


def test_a_rule_of_the_users_own() -> None:
    right = _with_rule(lambda p, ct, total: p * (ct - total))
    given = arrays(3, 3, S, D)
    graph, (attention,) = found(with_gradients(right), given)
    assert [each.name for each in attention.made] == ["out", "q", "k", "v"]
    assert_same(graph, attention, given)


@pytest.mark.parametrize(
    "rule",
    [
        lambda p, ct, total: p * ct,
        lambda p, ct, total: p * (ct + total),
        lambda p, ct, total: p * (ct - 0.999 * total),
        lambda p, ct, total: p * (ct - jnp.swapaxes(total, 0, 1)),
        lambda p, ct, total: p * (ct - (p * ct).sum(-2, keepdims=True)),
        lambda p, ct, total: p * p * (ct - total),
        lambda p, ct, total: p * (ct - total) + 0.0 * ct,
        lambda p, ct, total: jnp.where(p > 0.01, p * (ct - total), 0.0),
        lambda p, ct, total: jnp.swapaxes(p * (ct - total), 0, 1),
    ],
)
def test_a_gradient_that_is_wrong_on_purpose(rule: Any) -> None:
    """It is not replaced by the right one, whatever else is."""
    given = arrays(3, 3, S, D)
    graph, made = found(with_gradients(_with_rule(rule)), given)
    assert not {"q", "k"} & {each.name for attention in made for each in attention.made}
    for attention in made:
        assert_same(graph, attention, given)


def test_a_gradient_that_is_a_multiple() -> None:
    given = arrays(3, 3, S, D)
    function = _with_rule(lambda p, ct, total: 3 * p * (ct - total))
    graph, (attention,) = found(with_gradients(function), given)
    assert [each.factor for each in attention.made] == [1, 3, 3, 1]
    assert_same(graph, attention, given)
