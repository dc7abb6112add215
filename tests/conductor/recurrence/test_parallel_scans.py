"""Parallel scans are told by proof, and done as loops with the same values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import Goal
from orchestrator_core.conductor.cost import Device, on_device
from orchestrator_core.conductor.cost.known_devices import known_device
from orchestrator_core.conductor.facts.monoid import is_associative
from orchestrator_core.conductor.recurrence import unparallel
from tests.conductor.recurrence.judged import errors, normal, rewritten, run

CPU, H200 = known_device("cpu", "cpu"), known_device("NVIDIA H200", "gpu")
SMALLER = Goal(objective="memory", allow=frozenset({"recurrence"}))


def affine(left: Any, right: Any) -> Any:
    return left[0] * right[0], right[0] * left[1] + right[1]


def matrices(left: Any, right: Any) -> Any:
    product = jnp.einsum("tij,tjk->tik", right[0], left[0])
    return product, jnp.einsum("tij,tj->ti", right[0], left[1]) + right[1]


def in_log_space(left: Any, right: Any) -> Any:
    return left[0] + right[0], jnp.logaddexp(left[1] + right[0], right[1])


def last(combine: Any, **how: Any) -> Callable[..., Any]:
    return lambda *xs: lax.associative_scan(combine, xs, **how)[-1]


def alone(combine: Any) -> Callable[..., Any]:
    return lambda x: lax.associative_scan(combine, x)


def twice(a: Any, b: Any) -> Any:
    first = lax.associative_scan(affine, (a, b))[1]
    return lax.associative_scan(affine, (a, jnp.tanh(first)))[1]


POSITIVE: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "affine": (last(affine), ((37, 2), (37, 2))),
    "a power of two": (last(affine), ((16, 2), (16, 2))),
    "reversed": (last(affine, reverse=True), ((19, 2), (19, 2))),
    "along another axis": (last(affine, axis=1), ((2, 21, 3), (2, 21, 3))),
    "a batch": (jax.vmap(last(affine)), ((3, 13, 2), (3, 13, 2))),
    "both results": (lambda *xs: lax.associative_scan(affine, xs), ((13, 2), (13, 2))),
    "two, one after the other": (twice, ((13, 2), (13, 2))),
    "maximum": (lambda x: lax.associative_scan(jnp.maximum, x), ((19, 2),)),
    "matrices": (last(matrices), ((14, 2, 2), (14, 2))),
    "log space": (last(in_log_space), ((14, 2), (14, 2))),
    "of a type that Python leaves open": (lambda x: alone(jnp.add)((x > 0) * 0.1), ((21, 2),)),
}


@pytest.mark.parametrize("name", POSITIVE)
def test_values(name: str) -> None:
    function, shapes = POSITIVE[name]
    arrays = [x / 2 for x in normal(*shapes)]
    loop, sites, graph = rewritten(function, arrays)
    found = [site for site in sites if site.found == "a parallel scan"]
    assert found
    assert all(site.is_changed for site in found)
    assert not any(node.name == "pad" for node in graph.nodes)
    assert max(errors(function, run(loop, arrays), arrays)) < 2e-6


NEGATIVE: dict[str, Any] = {
    "difference": lambda x, y: (x[0] - y[0], x[1] - y[1]),
    "almost affine": lambda x, y: (x[0] * y[0], y[0] * x[1] + 1.01 * y[1]),
    "the wrong side": lambda x, y: (x[0] * y[0], x[0] * x[1] + y[1]),
    "rounded": lambda x, y: (x[0] * y[0], jnp.round(y[0] * x[1] + y[1])),
    "mean": lambda x, y: (x[0] * y[0], (x[1] + y[1]) / 2),
    "cut off at 10": lambda x, y: (x[0] * y[0], lax.clamp(-10.0, x[1] + y[1], 10.0)),
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_what_is_not_associative_is_left_alone(name: str) -> None:
    arrays = normal((13, 2), (13, 2))
    function = last(NEGATIVE[name])
    same, sites, _ = rewritten(function, arrays)
    assert not any(site.is_changed for site in sites)
    assert [site.reason for site in sites] == ["its operation is not associative"]
    assert jnp.array_equal(jax.jit(same)(*arrays)[0], jax.jit(function)(*arrays))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_what_is_hardly_associative_is_left_alone_in_few_bits(dtype: str) -> None:
    """64 times the rounding of bfloat16 is a fourth; a loop of 1000 steps makes 33 of what the scan
    makes 764 of."""
    decay = jnp.asarray(0.97, dtype)
    function = alone(lambda a, b: decay * a + b)
    arrays = [jnp.ones((1000, 2), dtype)]
    same, sites, _ = rewritten(function, arrays, SMALLER)
    assert [site.reason for site in sites] == ["its operation is not associative"]
    assert jnp.array_equal(run(same, arrays)[0], run(function, arrays))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", lambda n: n), ("affine", lambda n: (1 - 0.5**n) / 0.5), ("log", lambda n: np.log(n))],
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_loop_carries_numbers_of_32_bits(dtype: str, name: str, expected: Any) -> None:
    """One after another, ones add up to 256 in bfloat16, and to 2048 in float16."""
    length = 4000
    ones = jnp.ones((length, 2), dtype)
    function, arrays = {
        "sum": (alone(jnp.add), [ones]),
        "affine": (last(affine), [ones / 2, ones]),
        "log": (alone(jnp.logaddexp), [0 * ones]),
    }[name]
    loop, sites, _ = rewritten(function, arrays, SMALLER)
    assert [site.chosen for site in sites if site.found == "a parallel scan"] == ["a plain loop"]
    (made,) = run(loop, arrays)
    assert made.dtype == dtype
    wanted = np.array([expected(n) for n in range(1, length + 1)])
    assert np.allclose(made.astype("float32"), wanted[:, None], rtol=1e-2)


def test_a_long_sum_is_as_exact_as_that_of_a_scan() -> None:
    """8000 times 0.1, one after another, are off by 6e-5 in 32 bits; the scan by 2e-7."""
    arrays = [jnp.full((8000, 2), 0.1, "float32")]
    loop, sites, _ = rewritten(alone(jnp.add), arrays, SMALLER)
    assert [site.chosen for site in sites if site.found == "a parallel scan"] == ["a plain loop"]
    assert max(errors(alone(jnp.add), run(loop, arrays), arrays)) < 1e-6


def test_gradients_of_few_bits_are_taken_in_32() -> None:
    """Each of the terms goes into all sums after it: the first into 1000 of them."""

    def linear(x: Any) -> Any:
        return jax.grad(lambda x: lax.associative_scan(jnp.add, x).astype("float32").sum())(x)

    arrays = [jnp.ones((1000, 2), jnp.bfloat16)]
    loop, _, _ = rewritten(linear, arrays)
    wanted = np.arange(1000, 0, -1)[:, None]
    assert np.allclose(run(loop, arrays)[0].astype("float32"), wanted, rtol=1e-2)


def test_strict_keeps_the_order_of_products() -> None:
    _, sites, _ = rewritten(last(affine), normal((13, 2), (13, 2)), Goal(precision="strict"))
    assert not any(site.is_changed for site in sites)


@pytest.mark.parametrize(("device", "is_changed"), [(CPU, True), (H200, False)])
def test_less_memory_is_not_worth_any_time(device: Device, is_changed: bool) -> None:
    """A step of a loop is microseconds on a CPU and several kernels on a GPU."""
    with on_device(device):
        _, (site, *_), _ = rewritten(last(affine), normal((4096, 8), (4096, 8)), SMALLER)
    assert site.is_changed == is_changed
    assert is_changed or "less memory, but" in site.reason


def test_what_operations_do_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers are alike. Another number in an operation makes it another one, and what is left as
    it is stands against none of those after it."""

    def scaled(scale: float) -> Any:
        return lambda a, b: scale * (a + b)

    def layers(x: Any) -> Any:
        for scale in (1.0, 1.0, 2.0, 1.0, 2.0):
            x = jnp.tanh(lax.associative_scan(scaled(scale), x))
        return x

    tried: list[Any] = []

    def counted(operation: Any, avals: Any) -> bool:
        tried.append(avals)
        return is_associative(operation, avals)

    monkeypatch.setattr(unparallel, "is_associative", counted)
    _, sites, _ = rewritten(layers, normal((16, 2)))
    found = [site.is_changed for site in sites if site.found == "a parallel scan"]
    assert found == [True, True, False, True, False]
    assert len(tried) == 2


def test_a_scan_changed_by_hand_is_none() -> None:
    """One place is not the product of all before it."""

    def function(a: Any, b: Any) -> Any:
        a = a.at[::2].multiply(2)
        odd = a[1::2] * a[::2]
        return lax.pad(a[::2], 0.0, ((0, 1, 1), (0, 0, 0))) + lax.pad(
            odd, 0.0, ((1, 0, 1), (0, 0, 0))
        )

    arrays = normal((8, 2), (8, 2))
    same, sites, _ = rewritten(function, arrays)
    assert not any(site.is_changed for site in sites)
    assert jnp.array_equal(same(*arrays)[0], function(*arrays))


def test_a_product_that_overflows_does_not_spoil_what_a_loop_never_multiplies() -> None:
    """A loop is nearer to the truth: infinity times nothing happens in the shuffles alone."""
    a, b = jnp.full((16, 1), 1e20), jnp.zeros((16, 1))
    loop, _, _ = rewritten(last(affine), [a, b])
    assert not jnp.isnan(run(loop, [a, b])[0]).any()


def test_a_loop_is_priced_with_what_it_takes_in() -> None:
    """Gates made before and a sum made after it: Mamba's recurrence, with few states, trained. On
    this device a step takes so long that the loop alone would not be cheaper."""
    device = dataclasses.replace(CPU, step_s=1.5e-7)

    def loss(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
        gates = jnp.exp(dt[:, :, None] * a), dt[:, :, None] * b[:, None, :] * x[:, :, None]
        return jnp.sum(jnp.einsum("tdn,tn->td", lax.associative_scan(affine, gates)[1], c) ** 2)

    shapes = ((4096, 24), (4096, 24), (24, 2), (4096, 2), (4096, 2))
    train = jax.value_and_grad(loss, (0, 1, 2))
    with on_device(device):
        _, sites, _ = rewritten(train, [jnp.zeros(shape) for shape in shapes], Goal())
    assert sites[0].chosen == "a plain loop, and its derivative another"
    assert sites[0].reason == "a loop that does what is around it is cheaper"
    assert sites[0].before is not None
    assert sites[0].after is not None
    assert sites[0].before.seconds > sites[0].after.seconds


def test_associativity() -> None:
    aval = jax.eval_shape(lambda: jnp.zeros(3))
    assert is_associative(lambda a, b: [a[0] + b[0]], [aval])
    assert not is_associative(lambda a, b: [a[0] + 2 * b[0]], [aval])
    whole = jax.eval_shape(lambda: jnp.zeros(3, jnp.int32))
    assert is_associative(lambda a, b: [a[0] * b[0]], [whole])
    assert not is_associative(lambda a, b: [a[0] // 2 + b[0]], [whole])


PIECEWISE: dict[str, Any] = {
    "cut off at 10": lambda a, b: [jnp.clip(a[0] + b[0], -10, 10)],
    "cut off at a million": lambda a, b: [jnp.minimum(a[0] + b[0], 1e6)],
    "nothing below 1e-6": lambda a, b: [jnp.where(jnp.abs(a[0] + b[0]) < 1e-6, 0, a[0] + b[0])],
    "begun anew where there is a one": lambda a, b: [jnp.where(b[0] == 1, b[0], a[0] + b[0])],
}


@pytest.mark.parametrize("name", PIECEWISE)
def test_what_is_a_sum_for_most_numbers_alone_is_not_associative(name: str) -> None:
    """Numbers of all sizes are tried: of usual size these are sums. A single one, too."""
    for shape in ((), (3,)):
        aval = jax.ShapeDtypeStruct(shape, jnp.float32)
        assert not is_associative(PIECEWISE[name], [aval])


@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("complex64", (1024, 64)), ("complex64", (1024, 32)), ("float32", (512, 64))],
)
def test_small_ones_are_loops_on_a_cpu(dtype: str, shape: tuple[int, ...]) -> None:
    """States of an LRU, an S5 and a Griffin. Measured: the loops take 0.26, 0.35 and 0.47 of the
    time, and 0.3 to 0.35 with gradients."""
    given = [jnp.ones(shape, dtype)] * 2
    with on_device(CPU):
        _, sites, _ = rewritten(last(affine), given, Goal(allow=frozenset({"recurrence"})))
    assert [site.chosen for site in sites if site.found == "a parallel scan"] == ["a plain loop"]
