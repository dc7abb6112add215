"""Products of one array are merged, and scales go into convolutions, where that gains."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.algebra import convolutions
from orchestrator_core.conductor.algebra.products import groups
from orchestrator_core.conductor.algebra.rewrite import IMPROVEMENTS, algebra
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewrite import SPENT
from orchestrator_core.conductor.site import Site

RANDOM = np.random.default_rng(0)
ALWAYS = Goal(always=True)


def array(*shape: int) -> jax.Array:
    return jnp.asarray(RANDOM.normal(size=shape), "float32")


def rewritten(
    function: Callable[..., Any], args: Any, goal: Goal, rtol: float = 1e-6
) -> tuple[Graph, list[Site]]:
    """With values proven to be the same."""
    leaves, tree = jax.tree.flatten(args)

    def flat(*leaves: Any) -> list[Any]:
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

    graph = read(jax.make_jaxpr(flat)(*leaves))
    new, sites = algebra(graph, goal)
    for one, other in zip(evaluate(graph, leaves), evaluate(new, leaves), strict=True):
        atol = rtol * max(1.0, float(jnp.abs(one).max()))
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
        assert one.dtype == other.dtype
    return new, sites


def count(graph: Graph, name: str) -> int:
    return sum(node.name == name for node in graph.nodes)


def calls(function: Callable[[], Any]) -> int:
    """How many calls it makes, of what is built in, too."""
    made: list[str] = []
    sys.setprofile(lambda frame, event, _: made.append(event) if "call" in event else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(made)


def attention(x: jax.Array, ws: list[jax.Array]) -> jax.Array:
    q, k, v = (jnp.einsum("btd,dhe->bhte", x, w) for w in ws)
    return jax.nn.softmax(q @ k.mT) @ v


def test_queries_keys_and_values_are_one_product() -> None:
    args = array(2, 5, 8), [array(8, 2, 4) for _ in range(3)]
    graph, _ = rewritten(attention, args, Goal(always=True, precision="strict"), rtol=1e-5)
    assert count(graph, "dot_general") == 3  # of five
    gradients = jax.grad(lambda *args: attention(*args).sum(), argnums=(0, 1))
    rewritten(gradients, args, ALWAYS, rtol=1e-5)


def test_products_of_what_was_merged_before_are_merged() -> None:
    """The second two read what the first two made."""

    def function(x: jax.Array, a: jax.Array, b: jax.Array, z: jax.Array) -> Any:
        p, q = x @ a, x @ b
        return z @ p, z @ q

    graph, _ = rewritten(function, [array(8, 8) for _ in range(4)], ALWAYS)
    assert count(graph, "dot_general") == 2


def test_products_that_wait_for_each_other_are_not_merged_both() -> None:
    def function(x: jax.Array, y: jax.Array, a: jax.Array, b: jax.Array) -> Any:
        first, second = x @ a, y @ b
        return x @ second, y @ first

    graph, _ = rewritten(function, [array(8, 8) for _ in range(4)], ALWAYS)
    assert count(graph, "dot_general") == 3  # of four


def test_many_products_that_wait_for_each_other_take_work_in_proportion() -> None:
    def steps(x: jax.Array, w: jax.Array, count: int) -> jax.Array:
        for _ in range(count):
            x = jnp.tanh(x @ w)
        return x

    def work(count: int) -> int:
        graph = read(jax.make_jaxpr(steps, static_argnums=2)(*[jnp.ones((4, 4))] * 2, count))
        return calls(lambda: list(groups(graph)))

    assert work(400) < 5 * work(100)


def test_products_of_other_widths_and_layouts() -> None:
    def function(x: jax.Array, a: jax.Array, b: jax.Array, c: jax.Array) -> Any:
        turned = jax.lax.dot_general(x, b, (((1,), (1,)), ((), ())))
        return x @ a, turned, jnp.einsum("td,ndm->tnm", x, c)

    graph, _ = rewritten(function, (array(5, 8), array(8, 3), array(4, 8), array(2, 8, 3)), ALWAYS)
    assert count(graph, "dot_general") == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, a, b: (x @ a) @ b,
        lambda x, a, b: x @ ((x @ a) @ b),
        lambda x, a, b: (x @ a, x.T @ b),
        lambda x, a, b: (x @ a, x @ b.astype(jnp.bfloat16)),
        lambda x, a, b: jnp.einsum("bi,bi->b", x, a) + jnp.einsum("bi,bi->b", x, b),
    ],
    ids=["chain", "needs-itself", "other-axis", "other-type", "batched"],
)
def test_what_cannot_be_merged(function: Callable[..., Any]) -> None:
    before = read(jax.make_jaxpr(function)(*[jnp.ones((6, 6))] * 3))
    graph, _ = rewritten(function, (array(6, 6), array(6, 6), array(6, 6)), ALWAYS, rtol=1e-5)
    assert count(graph, "dot_general") == count(before, "dot_general")


def test_what_would_not_be_faster_is_left_and_says_why() -> None:
    few = array(2, 256), array(256, 512), array(256, 512)  # weights of 1 MB for two rows
    graph, (site,) = rewritten(lambda x, a, b: (x @ a, x @ b), few, Goal())
    assert count(graph, "dot_general") == 2
    assert not site.is_changed
    assert site.after.seconds > 0.97 * site.before.seconds


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_outside_of_loops_only_a_gpu_gains(platform: str) -> None:
    """A CPU computes them side by side, and one product would have to be put together and cut."""
    with on_device(known_device("NVIDIA H200" if platform == "gpu" else "cpu", platform)):
        args = array(2, 64, 32), [array(32, 4, 8) for _ in range(3)]
        graph, sites = rewritten(attention, args, Goal(), rtol=1e-5)
    changed = [site.is_changed for site in sites if site.found == "3 products of one array"]
    assert changed == [platform == "gpu"]
    assert count(graph, "dot_general") == (5 if platform == "cpu" else 3)


def lstm(x: jax.Array, w: list[jax.Array], u: list[jax.Array]) -> jax.Array:
    def step(carry: Any, x: jax.Array) -> Any:
        h, c = carry
        i, f, o, g = (x @ w[k] + h @ u[k] for k in range(4))
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], u[0].shape[0]))
    return jax.lax.scan(step, (zero, zero), x)[1]


def test_the_matrices_of_an_lstm_are_one_in_each_step() -> None:
    """All calls of a step but two are saved; they lie in memory as each of them did."""
    args = array(6, 3, 5), [array(5, 8) for _ in range(4)], [array(8, 8) for _ in range(4)]
    with on_device(known_device("cpu", "cpu")):
        graph, sites = rewritten(lstm, args, Goal())
        (body,) = next(node for node in graph.nodes if node.name == "scan").bodies
        assert [site.is_changed for site in sites] == [True, True]
        gradient = jax.grad(lambda *args: lstm(*args).sum(), (1, 2))
        rewritten(gradient, args, Goal(), rtol=1e-5)
    products = [node for node in body.nodes if node.name == "dot_general"]
    assert [node.params["dimension_numbers"] for node in products] == [(((1,), (0,)), ((), ()))] * 2
    assert [node.output.shape for node in products] == [(3, 32)] * 2


def test_what_the_next_step_waits_for_is_not_one_with_what_may_leave_the_loop() -> None:
    """A backward loop makes both ``g @ w.T``, the gradient of what it read, and ``g @ u.T``, which
    goes on: the first is one product for all steps after the loop, if it is left alone."""

    def step(h: Any, x: Any, w: Any, u: Any) -> Any:
        g = jnp.cos(x + h)
        return g @ u, g @ w

    def function(h: Any, xs: Any, w: Any, u: Any) -> Any:
        return jax.lax.scan(lambda h, x: step(h, x, w, u), h, xs)

    def both_go_on(h: Any, xs: Any, w: Any, u: Any) -> Any:
        def turn(h: Any, x: Any) -> Any:
            one, other = step(h, x, w, u)
            return one + jnp.sin(other), None

        return jax.lax.scan(turn, h, xs)[0]

    args = array(3, 8), array(6, 3, 8), array(8, 8), array(8, 8)
    with on_device(known_device("cpu", "cpu")):
        _, apart = rewritten(function, args, Goal(), rtol=1e-5)
        _, together = rewritten(both_go_on, args, Goal(), rtol=1e-5)
    assert not apart
    assert [site.is_changed for site in together] == [True]


@pytest.mark.parametrize("what", ["while", "branch", "made of what stays"])
def test_in_other_loops(what: str) -> None:
    def both(h: Any, u: Any) -> Any:
        return jnp.tanh(h @ u[0]) - jnp.cos(h @ u[1])

    def of_loop(h: Any, u: Any) -> Any:
        return jax.lax.fori_loop(0, h.shape[0], lambda _, h: both(h, u), h)

    def of_branch(h: Any, u: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return jax.lax.cond(x > 2, lambda h: both(h, u), jnp.sin, h), None

        return jax.lax.scan(step, h, jnp.arange(5))[0]

    def of_made(h: Any, u: Any) -> Any:
        return jax.lax.scan(lambda h, _: (both(h, [2 * u[0].T, u[1] + 1]), None), h, None, 3)[0]

    function = {"while": of_loop, "branch": of_branch}.get(what, of_made)
    with on_device(known_device("cpu", "cpu")):
        args = array(4, 8), [array(8, 8), array(8, 8)]
        _, sites = rewritten(jax.jit(function), args, Goal(), rtol=2e-5)
    merged = [site for site in sites if site.found == "2 products of one array"]
    assert merged
    assert all(site.is_changed for site in merged)


def test_what_changes_from_step_to_step_is_not_put_side_by_side() -> None:
    def function(h: jax.Array, a: jax.Array, b: jax.Array) -> Any:
        def step(carry: Any, _: Any) -> Any:
            a, b = carry
            return (jnp.sin(a), jnp.cos(b)), h @ a - jnp.tanh(h @ b)

        return jax.lax.scan(step, (a, b), None, 4)[1]

    with on_device(known_device("cpu", "cpu")):
        _, sites = rewritten(function, (array(4, 8), array(8, 8), array(8, 8)), Goal())
    assert [site.is_changed for site in sites] == [False]


def test_what_is_read_for_more_elements_than_it_has_is_left() -> None:
    """Of loops over a part of an array, spread along another axis, XLA makes no vectors."""

    def memory(m: jax.Array, xs: jax.Array, a: jax.Array, b: jax.Array) -> Any:
        def step(m: Any, x: Any) -> Any:
            return m * jax.nn.sigmoid(x @ a)[:, None] + jnp.tanh(x @ b)[:, None], None

        return jax.lax.scan(step, m, xs)[0]

    args = array(4, 16, 8), array(5, 4, 8), array(8, 8), array(8, 8)
    with on_device(known_device("cpu", "cpu")):
        _, sites = rewritten(memory, args, Goal())
    assert [site.is_changed for site in sites if "products" in site.found] == [False]


def conv(x: jax.Array, w: jax.Array, layout: str = "NHWC", made: Any = None) -> jax.Array:
    dims = (layout, "HWIO", layout)
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=dims, preferred_element_type=made
    )


def norm(y: jax.Array, p: jax.Array) -> jax.Array:
    mean, var, scale, shift = p
    return (y - mean) * (scale / jnp.sqrt(var**2 + 1e-5)) + shift


IMAGE, WEIGHTS = (2, 5, 5, 3), (3, 3, 3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, p: norm(conv(x, w), p),
        lambda x, w, p: p[0] - conv(x, w) / (2 + p[1] ** 2),
        lambda x, w, p: 2.0 * conv(x, w),
        lambda x, w, p: norm(
            conv(x.transpose(0, 3, 1, 2), w, "NCHW"), p[:, None, :, None, None][:, 0]
        ),
        lambda x, w, p: jax.nn.relu(norm(norm(conv(x, w), p), p)),
    ],
    ids=["batch-norm", "turned", "number", "channels-first", "two"],
)
def test_scales_go_into_the_weights(function: Callable[..., Any]) -> None:
    args = array(*IMAGE), array(*WEIGHTS), array(4, 4)
    graph, sites = rewritten(function, args, ALWAYS, rtol=3e-5)
    assert any("convolution" in site.found for site in sites)
    (choice,) = [node for node in graph.nodes if node.name == "cond"]
    folded = choice.bodies[1]  # The other is all as it was.
    (node,) = [node for node in folded.nodes if node.name == "conv_general_dilated"]
    after = [reader.name for reader in folded.consumers.get(node.output, ())]
    assert after in ([], ["add"])
    _, kept = algebra(graph, Goal(always=True, precision="strict"))
    assert not any("convolution" in site.found for site in kept)


@pytest.mark.parametrize("scale", [np.inf, np.nan, 1e30])
def test_scales_that_are_not_usual_spread_as_they_would(scale: float) -> None:
    args = array(*IMAGE), array(*WEIGHTS), array(4, 4).at[2, 1].set(scale)
    graph = read(jax.make_jaxpr(lambda x, w, p: [jax.nn.relu(norm(conv(x, w), p))])(*args))
    new, (site,) = algebra(graph, ALWAYS)
    assert site.is_changed
    np.testing.assert_allclose(evaluate(new, args)[0], evaluate(graph, args)[0], rtol=1e-5)


@pytest.mark.parametrize(("dtype", "large"), [("float32", 1e25), ("float16", 3e3)])
@pytest.mark.parametrize("is_small", [True, False])
def test_weights_that_a_scale_would_take_out_of_range(
    dtype: str, large: float, is_small: bool
) -> None:
    """What they are multiplied with first brings them back."""
    large, power = (large, -0.8) if is_small else (1 / large, -0.7)

    def function(x: jax.Array, w: jax.Array, p: jax.Array) -> list[jax.Array]:
        return [conv(x, w) * p]

    args = tuple(
        jnp.asarray(each * scale, dtype)
        for each, scale in [
            (array(*IMAGE), large),
            (array(*WEIGHTS), large**power),
            (array(4), large**power),
        ]
    )
    graph = read(jax.make_jaxpr(function)(*args))
    new, (site,) = algebra(graph, ALWAYS)
    assert site.is_changed
    (expected,), (found,) = evaluate(graph, args), evaluate(new, args)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_weights_of_another_type_than_the_result_take_no_scales() -> None:
    def function(x: jax.Array, w: jax.Array, p: jax.Array) -> jax.Array:
        dims = ("NHWC", "HWIO", "NHWC")
        made = jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=dims, preferred_element_type=p.dtype
        )
        return made * p

    for before, after in [("bfloat16", "float32"), ("int8", "int32")]:
        args = array(*IMAGE).astype(before), array(*WEIGHTS).astype(before), array(4).astype(after)
        _, sites = algebra(read(jax.make_jaxpr(lambda *a: [function(*a)])(*args)), ALWAYS)
        assert not sites


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w, p: conv(x, w) * jnp.arange(5.0)[:, None],
        lambda x, w, p: conv(x, w) - conv(x, w).mean((0, 1, 2)),
        lambda x, w, p: (conv(x, w) * p[0], conv(x, w)),
        lambda x, w, p: 1 / conv(x, w),
        lambda x, w, p: conv(x, w) + p[0],
        lambda x, w, p: conv(x.astype("bfloat16"), w.astype("bfloat16"), made="float32") * p[0],
        lambda x, w, p: conv(x.astype("int8"), w.astype("int8"), made="int32") * p[0].astype(int),
        lambda x, w, p: conv(x.astype(int), w.astype(int)) * p[0].astype(int),
    ],
    ids=[
        *("by-place", "trained", "needed-itself", "divided-by", "shift-alone"),
        *("wider", "wider-whole", "whole"),
    ],
)
def test_what_is_no_scale_of_channels(function: Callable[..., Any]) -> None:
    args = array(*IMAGE), array(*WEIGHTS), array(4, 4)
    _, sites = rewritten(function, args, ALWAYS, rtol=1e-5)
    assert not any("convolution" in site.found for site in sites)


def test_a_convolution_right_after_one_that_was_folded() -> None:
    def twice(x: jax.Array, w: jax.Array, u: jax.Array, p: jax.Array) -> jax.Array:
        return norm(conv(norm(conv(x, w), p), u), p)

    args = array(*IMAGE), array(*WEIGHTS), array(3, 3, 4, 4), array(4, 4)
    _, sites = rewritten(twice, args, ALWAYS, rtol=2e-4)
    assert any(site.is_changed and "convolution" in site.found for site in sites)


@pytest.mark.parametrize(("layers", "times"), [(0, 0), (3, 1)])
def test_who_reads_what_is_found_out_once(
    layers: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all convolutions that are left as they are; and not where none is scaled."""
    asked: list[Graph] = []

    def flow(graph: Graph) -> Dataflow:
        asked.append(graph)
        return Dataflow(graph)

    def function(x: jax.Array, w: jax.Array, p: jax.Array) -> jax.Array:
        x = jax.nn.relu(conv(x, w))
        for _ in range(layers):
            x = jax.nn.relu(conv(x, w) * p[0] + p[1])
        return x

    monkeypatch.setattr(convolutions, "Dataflow", flow)
    args = array(2, 5, 5, 3), array(3, 3, 3, 3), array(2, 3)
    graph = read(jax.make_jaxpr(lambda *args: [function(*args)])(*args))
    _, sites = convolutions.folded_into(graph, Goal())
    assert [site.is_changed for site in sites] == [False] * layers
    assert len(asked) == times


@pytest.mark.usefixtures("forgiving")
def test_an_improvement_that_fails_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(graph: Graph, goal: Goal) -> Any:
        raise TypeError("no such type")

    monkeypatch.setitem(IMPROVEMENTS, "scaled convolutions", fails)
    args = array(2, 5, 8), [array(8, 2, 4) for _ in range(3)]
    graph, sites = rewritten(attention, args, ALWAYS, rtol=1e-5)
    assert count(graph, "dot_general") == 3  # of five
    (failed,) = [site for site in sites if "TypeError" in site.reason]
    assert failed.reason == "scaled convolutions: TypeError: no such type"
    assert not failed.is_changed


def test_nothing_is_improved_when_the_budget_is_spent() -> None:
    graph = read(jax.make_jaxpr(lambda x: [x.T.T])(array(2, 3)))
    after, (site,) = algebra(graph, Goal(budget_s=0))
    assert after is graph
    assert site.reason == SPENT
