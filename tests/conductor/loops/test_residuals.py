"""What a scan keeps for another is done again there: equal values, and less between the scans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.loops.rewrite import loops
from orchestrator_core.conductor.site import Site

S, D = 64, 4


def rewritten(
    function: Callable[..., Any], args: Any, goal: Goal, proven: bool = True
) -> tuple[Graph, list[Site]]:
    """The rewritten graph of a function of a tree, whose values are proven to be the same."""
    leaves, tree = jax.tree.flatten(args)

    def flat(*leaves: Any) -> list[Any]:
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

    new, sites = loops(read(jax.make_jaxpr(flat)(*leaves)), goal)
    if not proven:
        return new, sites
    expected = jax.jit(flat)(*leaves)
    made = jax.jit(lambda *leaves: evaluate(new, leaves))(*leaves)
    for one, other in zip(expected, made, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    return new, sites


def stacks(graph: Graph) -> list[tuple[int, ...]]:
    """Shapes of what scans make for other scans, without the leading axis."""
    scans = [Scan.of(node) for node in graph.nodes if node.name == "scan"]
    read = {each for scan in scans for each in scan.xs}
    return [y.shape[1:] for scan in scans for y in scan.ys if y in read]


def pairs(graph: Graph) -> list[tuple[int, ...]]:
    """Of stacks and constants that have two axes of `S`."""
    scans = [Scan.of(node) for node in graph.nodes if node.name == "scan"]
    shapes = stacks(graph) + [each.shape for scan in scans for each in scan.consts]
    return [shape for shape in shapes if shape.count(S) > 1]


def attention(x: jax.Array, w: jax.Array) -> jax.Array:
    q, k, v = jnp.split(x @ w, 3, axis=-1)
    scores = jnp.where(jnp.tril(jnp.ones((S, S), bool)), q @ k.T, -1e9)
    return x + jax.nn.softmax(scores) @ v


def layered(layer: Callable[..., jax.Array], **how: Any) -> Callable[..., Any]:
    """Value and gradients of layers in a scan."""

    def loss(x: jax.Array, ws: Any) -> jax.Array:
        x, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws, **how)
        return (x**2).mean()

    return jax.value_and_grad(loss, argnums=(0, 1))


@pytest.fixture(scope="module")
def given() -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(0)
    x, ws = random.normal(size=(S, D)), random.normal(size=(3, D, 3 * D)) / 2
    return jnp.asarray(x, "float32"), jnp.asarray(ws, "float32")


def test_probabilities_of_layers_are_not_kept(given) -> None:
    backwards = layered(attention, reverse=True, unroll=3)
    graph, sites = rewritten(backwards, given, Goal(always=True))
    assert pairs(graph) == []
    assert stacks(graph) == [(S, D)]  # the carry alone
    assert [site.is_changed for site in sites] == [True] * 3  # masks made inside, and the stacks


def test_for_time_only_what_is_tiled_then_is_done_again(given) -> None:
    size = 1024
    long = jnp.tile(given[0], (size // S, 1)), given[1][:2]

    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        q, k, v = jnp.split(x @ w, 3, axis=-1)
        scores = jnp.where(jnp.tril(jnp.ones((size, size), bool)), q @ k.T, -1e9)
        return x + jax.nn.softmax(scores) @ v

    graph, _ = rewritten(layered(layer), long, Goal(), proven=False)
    assert (size, 1) in stacks(graph)  # the sums by which the probabilities were divided
    assert (size, D) in stacks(graph)
    assert (size, size) not in stacks(graph)
    denied = Goal(deny=frozenset({"tiling"}))
    assert (size, size) in stacks(rewritten(layered(layer), long, denied, proven=False)[0])


def test_for_memory_as_little_as_can_be_is_kept(given) -> None:
    graph, sites = rewritten(layered(attention), given, Goal(objective="memory"), proven=False)
    assert stacks(graph) == [(S, D)]
    (site,) = [site for site in sites if "stacks" in site.found]
    assert site.after.temp_bytes < 0.5 * site.before.temp_bytes
    within, _ = rewritten(layered(attention), given, Goal(memory=1), proven=False)
    assert stacks(within) == [(S, D)]


def test_small_things_are_left_alone(given) -> None:
    _, sites = rewritten(layered(attention), given, Goal(), proven=False)
    assert not any(site.is_changed for site in sites if "stacks" in site.found)
    assert all(site.reason for site in sites)


def test_random_bits_are_drawn_again_from_their_key(given) -> None:
    x, ws = given
    keys = jax.random.split(jax.random.key(3), len(ws))

    def layer(x: jax.Array, given: tuple[jax.Array, jax.Array]) -> jax.Array:
        w, key = given
        kept = jax.random.bernoulli(key, 0.7, (S, S))
        return x + jnp.where(kept, jax.nn.softmax(x @ w[:, :D] @ x.T), 0) @ x

    def loss(x: jax.Array, ws: jax.Array) -> jax.Array:
        x, _ = jax.lax.scan(lambda x, given: (layer(x, given), None), x, (ws, keys))
        return (x**2).mean()

    graph, _ = rewritten(jax.grad(loss, argnums=(0, 1)), (x, ws), Goal(always=True))
    assert stacks(graph) == [(S, D)]


def test_a_maximum_is_compared_with_the_numbers_that_it_is_of(given) -> None:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        scores = jnp.tanh(x @ w[:, :D] @ x.T)
        return x + (scores / (2 + scores.max(-1, keepdims=True))) @ x

    graph, _ = rewritten(layered(layer), given, Goal(objective="memory"))
    assert pairs(graph) == []


def test_a_scan_in_a_layer(given) -> None:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        k = x @ w[:, :D]

        def row(total: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array]:
            p = jax.nn.softmax(q @ k.T)
            return total + p.max(), p @ x

        total, rows = jax.lax.scan(row, jnp.float32(0), x)
        return x + total * rows

    graph, _ = rewritten(layered(layer), given, Goal(always=True))
    assert stacks(graph) == [(S, D)]
    inner = [stacks(node.bodies[0]) for node in graph.nodes if node.name == "scan"]
    assert all((S,) not in shapes for shapes in inner)


def test_what_is_done_again_already_is_left_as_it_is(given) -> None:
    graph, _ = rewritten(layered(jax.checkpoint(attention)), given, Goal(always=True), proven=False)
    assert stacks(graph) == [(S, D)]


def outer_then(use: Callable[[jax.Array], Any]) -> Callable[[jax.Array], Any]:
    """A scan that makes a square for each row, and something that uses the stack."""

    def function(x: jax.Array) -> Any:
        last, squares = jax.lax.scan(lambda c, row: (c + row, jnp.outer(row, c)), x[0], x)
        return last, use(squares)

    return function


def total(squares: jax.Array) -> jax.Array:
    """By another scan."""
    return jax.lax.scan(lambda c, square: (c + square.sum(0), None), jnp.zeros(D), squares)[0]


@pytest.mark.parametrize(
    ("glue", "left"),
    [
        (lambda a: a.transpose(0, 2, 1).astype(jnp.bfloat16).astype("float32"), [(1, D)]),
        (lambda a: -a.reshape(S, 2, D // 2, D)[:, 1:, ::-1].reshape(S, -1, D), [(1, D)]),
        (lambda a: a[:, :, None].transpose(0, 2, 1, 3)[:, 0], [(1, D)]),
        (lambda a: jnp.cumsum(a, axis=0), []),
        (lambda a: a[::-1], []),
        (lambda a: a.transpose(1, 0, 2).reshape(S, D, D), []),
    ],
    ids=["types", "reshape", "axes", "sum", "backwards", "mixed"],
)
def test_what_happens_between_the_scans(given, glue: Callable[..., Any], left: Any) -> None:
    graph, _ = rewritten(outer_then(lambda a: total(glue(a))), (given[0],), Goal(always=True))
    assert stacks(graph) == left
    (maker, *_) = [Scan.of(node) for node in graph.nodes if node.name == "scan"]
    assert bool(left) == ((D, D) not in [y.shape[1:] for y in maker.ys])


def test_several_readers_do_it_again_each(given) -> None:
    graph, _ = rewritten(
        outer_then(
            lambda a: (total(a), total(2 - a.astype("int8").astype("float32").mT), total(-a))
        ),
        (given[0],),
        Goal(always=True),
    )
    assert (D, D) not in stacks(graph)


def test_a_scan_of_which_nothing_is_read_any_more_is_gone(given) -> None:
    """The gradient alone of a mean over samples needs no value of it. What comes after such a scan
    is still looked at: here another two."""

    def mean(w: jax.Array, xs: jax.Array) -> jax.Array:
        return jax.lax.map(lambda x: (jnp.tanh(jnp.tanh(x @ w) @ w) ** 2).mean(), xs).mean()

    def gradients(xs: jax.Array) -> Any:
        w = jnp.eye(D)
        return jax.grad(mean)(w, xs), jax.grad(mean)(2 * w, xs)

    xs = given[0].reshape(8, -1, D)
    graph, sites = rewritten(gradients, (xs,), Goal(objective="memory"))
    assert stacks(graph) == []
    assert [node.name for node in graph.nodes].count("scan") == 2
    kept = [site.chosen for site in sites if site.is_changed]
    assert kept == ["0 stacks (0 MB) kept, the rest done again"] * 2


def test_what_somebody_else_reads_stays(given) -> None:
    for use in (lambda a: (total(a), a), lambda a: (total(a), a.sum())):
        graph, sites = rewritten(outer_then(use), (given[0],), Goal(always=True))
        assert stacks(graph) == [(D, D)]
        assert not any(site.is_changed for site in sites)


def test_what_may_not_be_the_same_twice_stays(given) -> None:
    def told(row: jax.Array) -> jax.Array:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((D,), "float32"), row)

    def function(x: jax.Array) -> Any:
        _, rows = jax.lax.scan(lambda c, row: (c, jnp.outer(told(row), row)), 0, x)
        return total(rows)

    graph, _ = rewritten(function, (given[0],), Goal(always=True))
    assert stacks(graph) == [(D, 1)]


def test_a_stack_of_what_is_the_same_in_all_steps(given) -> None:
    def function(x: jax.Array) -> Any:
        same = jnp.cos(x[0])
        _, rows = jax.lax.scan(lambda c, row: (c + row.sum(), (same, row * c)), 0.0, x)
        return jax.lax.scan(lambda c, ab: (c + ab[0] * ab[1], None), jnp.zeros(D), rows)[0]

    graph, _ = rewritten(function, (given[0],), Goal(always=True))
    assert stacks(graph) == [()]
