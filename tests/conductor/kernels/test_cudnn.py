"""Plain attention and its gradient are recognised however they are written, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.algebra.rewrite import algebra
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels.attention import Attention, attentions_of
from orchestrator_core.conductor.kernels.cudnn.by_heads import Attend, by_heads
from orchestrator_core.conductor.kernels.cudnn.dispatch import (
    dispatched,
    in_kernels,
    programs_of,
    words_of,
)
from orchestrator_core.conductor.kernels.cudnn.layout import Layout
from orchestrator_core.conductor.kernels.cudnn.suited import unsuited
from orchestrator_core.conductor.kernels.numbers import with_numbers_inside
from orchestrator_core.conductor.loops.rewrite import loops
from orchestrator_core.conductor.tile.settings import TileSettings
from tests.conductor.kernels.interpreting import assert_near, graph_of

S, D = 24, 8

Function = Callable[..., Any]


def positions() -> tuple[Any, Any]:
    return jnp.arange(S)[:, None], jnp.arange(S)[None, :]


def causal(s: Any, fill: float = -np.inf) -> Any:
    i, j = positions()
    return jnp.where(i >= j, s, fill)


def in_window(s: Any) -> Any:
    i, j = positions()
    return jnp.where((j <= i) & (j > i - 7), s, -jnp.inf)


def of(scores: Callable[[Any], Any], axis: int = -1) -> Function:
    """(b, h, s, d) attention with these scores."""
    return lambda q, k, v: jax.nn.softmax(scores(q @ k.mT), axis) @ v


def by_hand(divided: Callable[[Any], Any]) -> Function:
    return lambda q, k, v: divided(jnp.exp(q @ k.mT)) @ v


def with_maximum(q: Any, k: Any, v: Any) -> Any:
    """The gradient of the maximum is zero, and is written all the same."""
    s = jnp.where(jnp.tril(jnp.ones((S, S), bool)), (q @ k.mT) / np.sqrt(D), -1e30)
    e = jnp.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v


def heads_last(q: Any, k: Any, v: Any) -> Any:
    s = causal(jnp.einsum("bihd,bjhd->bhij", q, k))
    return jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(s), v)


def of_jax(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")


def in_groups(q: Any, k: Any, v: Any) -> Any:
    """Three heads of queries share each head of keys."""
    return jax.nn.dot_product_attention(
        q, k[:, :, ::3], v[:, :, ::3], is_causal=True, implementation="xla"
    )


def one_head_of_keys(q: Any, k: Any, v: Any) -> Any:
    """Shazeer, "Fast transformer decoding", 2019; no mask, and more heads than positions."""
    s = jnp.einsum("hid,jd->hij", q, k[0])
    return jnp.einsum("hij,jd->hid", jax.nn.softmax(s), v[0])


def merged(q: Any, k: Any, v: Any) -> Any:
    """Batch and heads are one axis of the scores."""
    q, k, v = (jnp.reshape(each, (-1, S, D)) for each in (q, k, v))
    return jnp.reshape(jax.nn.softmax(causal(q @ k.mT)) @ v, (2, 3, S, D))


SPELLINGS: dict[str, tuple[Function, tuple[int, ...], str]] = {
    "no mask": (of(lambda s: s / jnp.sqrt(D)), (3, 3, S, D), "attention without a mask"),
    "causal": (of(lambda s: causal(s * 0.3)), (2, 3, S, D), "causal attention"),
    "one head": (of(causal), (S, D), "causal attention"),
    "a batch of one": (of(causal), (1, 3, S, D), "causal attention"),
    "a window": (of(in_window), (2, 3, S, D), "attention in a window of 7"),
    "no maximum": (by_hand(lambda e: e / e.sum(-1, keepdims=True)), (3, 3, S, D), ""),
    "a maximum": (with_maximum, (2, 3, S, D), "causal attention"),
    "heads last": (heads_last, (2, S, 3, D), "causal attention"),
    "finite fill": (of(lambda s: causal(s, -1e9)), (2, 3, S, D), "causal attention"),
    "of JAX": (of_jax, (2, S, 3, D), "causal attention"),
    "in groups": (in_groups, (2, S, 6, D), "causal attention"),
    "one head of keys": (one_head_of_keys, (30, S, D), "attention without a mask"),
    "merged": (merged, (6, S, D), "causal attention"),
}


def arrays(*shape: int, dtype: str = "float32") -> list[Any]:
    r = np.random.default_rng(0)
    return [jnp.asarray(r.normal(size=shape), dtype) for _ in range(3)]


def found(function: Function, given: list[Any]) -> tuple[Graph, list[Attention]]:
    graph, _ = algebra(graph_of(function, given), Goal())
    return graph, list(attentions_of(graph))


def with_gradients(function: Function) -> Function:
    """All but the values' as others compute them: of a sum of what is made of the result."""
    return jax.value_and_grad(lambda *given: jnp.sin(function(*given)).sum(), (0, 1, 2))


def written_out(attention: Attention) -> Attend:
    """What cuDNN does: what a mask hides has no part in it."""
    softmax = attention.softmax
    if softmax.mask is not None:
        softmax = replace(softmax, mask=replace(softmax.mask, fill=-np.inf))
    return by_heads(softmax, Layout.of(softmax).heads_first)


def assert_same(graph: Graph, attention: Attention, given: list[Any]) -> None:
    """Each program makes what was there, of what was there."""
    known = dict(zip(graph.inputs, given, strict=True))
    whole = Graph(graph.inputs, tuple(v for n in graph.nodes for v in n.outputs), graph.nodes, {})
    known.update(zip(whole.outputs, evaluate(whole, given), strict=True))  # type: ignore[arg-type]
    for program in programs_of(graph, attention):
        taken = [known[value] for value in program.before.inputs]
        made, _ = program.by(written_out(attention), taken)
        assert_near(made, program.as_it_was(*taken), 5e-6)
        for each, array in zip(program.made, made, strict=True):
            assert (array.shape, array.dtype) == (each.node.output.shape, each.node.output.dtype)
            assert_near([array], [known[each.node.output]], 5e-6)


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

    def layers(q: Any, k: Any, v: Any) -> Any:
        return of(causal)(of(causal)(q, k, v), k, v)

    graph, made = found(with_gradients(layers), given)
    assert len(made) == 2
    for attention in made:
        assert unsuited(graph, attention) == ""
        graph = dispatched(graph, attention)
    assert sum(node.name == "cudnn_attention" for node in graph.nodes) == 4
    exact = evaluate(graph_of(with_gradients(layers), given), given)
    assert_near(evaluate(graph, given), exact, 1e-6)


@pytest.mark.parametrize(
    "function",
    [
        of(lambda s: 5 * jnp.tanh(s / 5)),
        of(lambda s: jnp.where(positions()[0] > positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] <= positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] + 1 >= positions()[1], s, -jnp.inf)),
        of(lambda s: jnp.where(positions()[0] % 5 >= positions()[1] % 5, s, -jnp.inf)),
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


def test_what_cudnn_does_not_take() -> None:
    def reason(function: Function, *shape: int, dtype: str = "bfloat16") -> str:
        graph, (attention,) = found(function, arrays(*shape, dtype=dtype))
        return unsuited(graph, attention)

    def in_more_digits(q: Any, k: Any, v: Any) -> Any:
        return of(causal)(q, k, v.astype("float32"))

    assert reason(of(causal), 2, 2, S, D) == ""
    assert reason(lambda *a: in_more_digits(*a).astype("bfloat16"), 2, 2, S, D) == ""
    assert "more digits" in reason(in_more_digits, 2, 2, S, D)
    assert "float32" in reason(of(causal), 2, 2, S, D, dtype="float32")
    assert "multiples of 8" in reason(of(causal), 2, 2, S, D + 1)


def test_without_a_gpu_nothing_happens() -> None:
    graph, _ = found(of(causal), arrays(2, 3, S, D, dtype="bfloat16"))
    assert in_kernels(graph, Goal(), TileSettings()) == (graph, [])


@pytest.mark.parametrize(("largest", "is_kept"), [(1.0, True), (3e4, False)])
def test_scores_as_low_as_what_a_mask_sets(
    largest: float, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all scores of a query are below what the mask sets, it sees what the mask hides."""
    given = arrays(2, 3, S, D)
    given[0], given[1] = -largest * jnp.abs(given[0]), largest * jnp.abs(given[1])
    function = with_gradients(of(lambda s: causal(s, -1e9)))
    graph, (attention,) = found(function, given)
    for program in programs_of(graph, attention):
        monkeypatch.setattr(type(program), "_attend", lambda self, *a: written_out(attention)(*a))
        taken = [jnp.ones(value.shape, value.dtype) for value in program.before.inputs]
        taken[:3] = given
        exact = program.as_it_was(*taken)
        made, _ = program.by(written_out(attention), taken)
        is_near = all(np.allclose(a, b, atol=1e-4) for a, b in zip(made, exact, strict=True))
        assert is_near == is_kept
        assert_near(program.by_cudnn(*taken), exact, 5e-6)
