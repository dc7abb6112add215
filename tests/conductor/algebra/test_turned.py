"""Products whose large operand a CPU's library would turn are made the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Site, conduct
from orchestrator_core.conductor.algebra.turned import FOUND, NO_GAIN, turned
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.oriented import product
from orchestrator_core.conductor.site import AS_IT_IS


def array(*shape: int, seed: int = 0) -> Any:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), "float32")


def rewritten(function: Callable[..., Any], args: Sequence[Any], goal: Goal | None = None) -> Any:
    graph = read(jax.make_jaxpr(lambda *a: jax.tree.leaves(function(*a)))(*args))
    graph, sites = turned(graph, goal or Goal(always=True))
    return (lambda *a: evaluate(graph, a)), sites


def error(made: Any, *args: Any, numbers: Any) -> float:
    wide = [np.asarray(each, np.float64) for each in args]
    with jax.enable_x64(True):
        exact = np.asarray(lax.dot_general(*map(jnp.asarray, wide), numbers))
    assert made.shape == exact.shape
    return float(np.abs(made - exact).max() / np.abs(exact).max())


NUMBERS = {
    "rows by columns": (((1,), (0,)), ((), ()), (24, 40), (40, 6)),
    "the left one turned": (((0,), (0,)), ((), ()), (40, 24), (40, 6)),
    "both turned": (((0,), (1,)), ((), ()), (40, 24), (6, 40)),
    "many": (((1,), (1,)), ((0,), (0,)), (3, 40, 24), (3, 40, 6)),
    "several axes": (((0, 1), (0, 1)), ((), ()), (5, 8, 24), (5, 8, 6)),
    "free axes on both sides": (((0,), (0,)), ((), ()), (40, 4, 6), (40, 2, 3)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_values(name: str) -> None:
    inner, batch, left, right = NUMBERS[name]
    x, y = array(*left), array(*right, seed=1)
    made = jax.jit(lambda x, y: product(x, y, (inner, batch)))(x, y)
    assert error(made, x, y, numbers=(inner, batch)) < 1e-6


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "numbers",
    [
        (((2,), (1,)), ((0, 1), (0, 2))),
        (((3,), (1,)), ((0, 1), (0, 2))),
        (((2,), (3,)), ((1, 0), (2, 0))),
        (((0, 2), (0, 1)), ((1,), (2,))),
    ],
)
def test_halves_are_summed_in_32_bits_however_they_lie(kind: str, numbers: Any) -> None:
    """XLA's library for CPUs knows no sums in 32 bits of some of them (0.10.2)."""
    is_inner_early = numbers[0][1][-1] == 1
    x = array(2, 4, 128, 128)
    shape = [2, 128, 4, 64] if is_inner_early else [2, 64, 4, 128]
    y = array(*shape, seed=1).astype(kind)

    def function(x: Any, y: Any) -> Any:
        return product(jnp.exp(x).astype(kind), y, numbers, preferred_element_type=jnp.float32)

    made = jax.jit(function)(x, y)
    assert made.dtype == jnp.float32
    assert error(made, jnp.exp(x).astype(kind), y, numbers=numbers) < 1e-6


def mlp(x: Any, y: Any, w: Any, u: Any) -> Any:
    return ((jnp.tanh(x @ w) @ u - y) ** 2).mean()


GIVEN = [array(512, 16), array(512, 16, seed=1), array(16, 64, seed=2), array(64, 16, seed=3)]


def test_a_gradient_of_a_matrix_is_turned_where_the_input_is_the_larger() -> None:
    train = jax.grad(mlp, (2, 3))
    function, sites = rewritten(train, GIVEN)
    assert [site.found for site in sites] == [FOUND]
    made = jax.tree.leaves(jax.jit(function)(*GIVEN))
    for a, b in zip(made, jax.jit(train)(*GIVEN), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_batched", [False, True])
def test_an_operand_that_was_turned_before_is_seen_as_it_lies(is_batched: bool) -> None:
    shape = (2, 256, 128) if is_batched else (256, 128)
    given = [array(*shape), array(*shape[:-1], 8, seed=1)]
    function, sites = rewritten(lambda x, y: x.mT @ y, given)
    assert len(sites) == 1
    (made,) = jax.jit(function)(*given)
    np.testing.assert_allclose(made, given[0].mT @ given[1], rtol=1e-4, atol=1e-4)


def test_no_large_product_is_left_with_its_left_operand_turned() -> None:
    """As XLA compiles it: its left operand's rows are what is summed."""
    shapes = [jax.ShapeDtypeStruct((4, 512, 64), "float32")] * 3

    def loss(q: Any, k: Any, v: Any) -> Any:
        return ((jax.nn.softmax(jnp.where(q @ k.mT > 0, q @ k.mT, -1e9)) @ v) ** 2).sum()

    train = jax.grad(loss, (0, 1, 2))
    ours = conduct(train, deny="tiling").lower(*shapes).compile().as_text() or ""
    plain = jax.jit(train).lower(*shapes).compile().as_text() or ""
    assert plain.count("lhs_contracting_dims={1}") == 2
    assert ours.count("lhs_contracting_dims={1}") == 0


def test_what_is_spread_from_less_is_made_to_lie_as_it_is_wanted() -> None:
    """Masks of which expert gets a row in which place: XLA makes them as the product reads them. Of
    an argument it does not, nor of what is made of one element by element."""

    def dispatched(mask: Any, x: Any) -> Any:
        return jnp.einsum("nec,nd->ecd", mask, x)

    def masks(expert: Any, place: Any) -> Any:
        return jax.nn.one_hot(expert, 8)[:, :, None] * jax.nn.one_hot(place, 64)[:, None]

    expert, place, x = jnp.arange(512) % 8, jnp.arange(512) // 8, array(512, 8)
    made = lambda expert, place, x: dispatched(masks(expert, place), x)  # noqa: E731
    assert rewritten(made, [expert, place, x])[1] == []
    for change in (lambda mask: mask, jnp.tanh):
        given = masks(expert, place), x
        sites = rewritten(lambda mask, x, f=change: dispatched(f(mask), x), given)[1]
        assert [site.found for site in sites] == [FOUND]


def test_it_is_left_alone_on_another_device() -> None:
    with on_device(known_device("NVIDIA H200", "gpu")):
        assert rewritten(jax.grad(mlp, (2, 3)), GIVEN)[1] == []


def retention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Attention whose weights decay (Sun et al. 2023, "Retentive network", parallel form)."""
    heads, length = q.shape[1:3]
    decay, at = 1 - 2.0 ** (-5 - jnp.arange(heads)), jnp.arange(length)
    ages = at[:, None] - at
    weights = jnp.where(ages >= 0, decay[:, None, None] ** ages, 0.0)
    return jnp.sin((jnp.einsum("bhqd,bhkd->bhqk", q, k) * weights) @ v).sum()


def test_it_is_left_alone_where_more_would_be_held_for_it() -> None:
    """A turned gradient of the values keeps their weights for longer: half as much again is held,
    and to have that memory takes longer than the turned product saves."""
    given = [array(1, 4, 1024, 64, seed=seed) for seed in range(3)]
    train = jax.grad(retention, (0, 1, 2))
    device = known_device("cpu", "cpu")
    for rate, left in ((1e9, {(AS_IT_IS, NO_GAIN)}), (math.inf, set[tuple[str, str]]())):
        with on_device(replace(device, fresh_rate=rate)):
            sites = rewritten(train, given, Goal())[1]
        assert {(site.chosen, site.reason) for site in sites if not site.is_changed} == left
        assert sites


def test_it_is_left_alone_where_memory_is_wanted() -> None:
    goal = Goal(objective="memory")
    assert rewritten(jax.grad(mlp, (2, 3)), GIVEN, goal)[1] == []


def test_what_is_hoisted_out_of_a_loop_is_merged_afterwards() -> None:
    """minGRU: both products leave the loop, and then are one."""

    def run(x: Any, w: Any, u: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            z = jax.nn.sigmoid(x @ w)
            return ((1 - z) * h + z * (x @ u),) * 2

        return lax.scan(step, jnp.zeros(w.shape[1]), x)[1]

    given = [array(256, 64), array(64, 64, seed=1) / 8, array(64, 64, seed=2) / 8]
    ours = conduct(run, Goal(always=True, allow=frozenset({"algebra", "recurrence"})))
    np.testing.assert_allclose(ours(*given), jax.jit(run)(*given), rtol=1e-5, atol=1e-6)
    sites: list[Site] = [site for part in ours.explain(*given).sections for site in part.sites]
    assert any(site.found == "2 products of one array" and site.is_changed for site in sites)


SUMMED: Any = (((0,), (0,)), ((), ()))


@pytest.mark.parametrize(
    ("rows", "is_worth_it"), [((1024, 1280), True), ((1024, 1250), False), ((1024, 160), False)]
)
def test_it_is_worth_it_for_long_rows_that_meet_in_the_cache(
    rows: tuple[int, int], is_worth_it: bool
) -> None:
    """Measured beside 64 columns: 0.6, 1.0 and 1.0 of the time."""
    args = array(*rows), array(rows[0], 64, seed=1)
    with on_device(known_device("cpu", "cpu")):
        _, sites = rewritten(lambda x, y: lax.dot_general(x, y, SUMMED), args, Goal())
    assert [site.is_changed for site in sites] == [is_worth_it]


def test_of_what_two_products_read_turned_there_is_one_copy() -> None:
    """Of tasks sent to experts: XLA turns ``sent`` once, for both."""

    def function(sent: Any, x: Any, g: Any) -> Any:
        to_experts = jnp.einsum("tec,td->ecd", sent, x)
        back = lax.dot_general(g, sent, (((0, 1), (1, 2)), ((), ())))
        return to_experts, back

    args = array(256, 8, 160), array(256, 32, seed=1), array(8, 160, 32, seed=2)
    with on_device(known_device("cpu", "cpu")):
        _, both = rewritten(function, args, Goal())
        _, alone = rewritten(lambda sent, x, g: function(sent, x, g)[0], args, Goal())
    assert not any(site.is_changed for site in both)
    assert [site.is_changed for site in alone] == [True]


@pytest.mark.parametrize("free", [(), (4,)])
def test_factors_change_places_if_each_has_one_free_axis(free: tuple[int, ...]) -> None:
    """As XLA does where a product is only read turned: which of them lies the wrong way round is
    asked of what it makes."""
    args = array(512, 16), array(512, *free, 128, seed=1)

    def function(x: Any, y: Any) -> Any:
        return jnp.moveaxis(lax.dot_general(x, y, SUMMED), 0, -1)

    _, sites = rewritten(function, args)
    compiled = jax.jit(function).lower(*args).compile().as_text() or ""
    is_large_left = "f32[128,16]" in compiled
    assert (len(sites) == 1) == is_large_left == (not free)


def test_a_product_of_a_product_where_both_are_turned() -> None:
    summed: Any = (((0,), (0,)), ((), ()))

    def twice(x: Any, g: Any, u: Any) -> Any:
        return lax.dot_general(lax.dot_general(x, g, summed), u, summed)

    args = array(4096, 256), array(4096, 100, seed=1), array(256, 3, seed=2)
    run, sites = rewritten(twice, args)
    assert all(site.is_changed for site in sites)
    np.testing.assert_allclose(run(*args)[0], twice(*args), rtol=1e-4, atol=2e-3)
    assert sites


def test_a_product_that_is_made_turned_lies_turned() -> None:
    """As in the gradient of ``x (W + A B)``: XLA makes ``x^T g`` at once, and so both read it as it
    lies. Turned once more it took 2.5 times as long."""
    summed: Any = (((0,), (0,)), ((), ()))

    def function(x: Any, g: Any, a: Any, b: Any) -> Any:
        d = lax.dot_general(g, x, summed).T
        return lax.dot_general(d, a, summed).T, d @ b.T

    args = array(64, 512), array(64, 512, seed=1), array(512, 8, seed=2), array(8, 512, seed=3)
    with on_device(known_device("cpu", "cpu")):
        _, sites = rewritten(function, args, Goal())
    assert not any(site.is_changed for site in sites)
