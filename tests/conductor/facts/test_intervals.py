"""Intervals hold all elements, whatever the numbers are, or say that they know nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.facts.intervals import Interval, interval_of
from orchestrator_core.conductor.facts.intervals.interval import as_read, exactly, joined, of_each
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Literal

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda x, y: (x + y) - (x - y) - 3.0,
    "products": lambda x, y: x * y * -2.0 + x**2 - y**3,
    "quotients": lambda x, y: (x / y, 1 / (jnp.abs(x) + 1), x / 7.0),
    "inverse powers": lambda x, y: (x**-1, y**-2, (jnp.abs(x) + 1) ** -3, (y - 5) ** -5),
    "cotangents": jax.grad(lambda x, y: (x * y + x**2 + jnp.tanh(x)).sum(), (0, 1)),
    "exponentials": lambda x, y: jnp.exp(x - y) * jnp.exp(-jnp.abs(x)),
    "rising": lambda x, y: (
        jnp.tanh(x),
        jax.nn.sigmoid(y),
        jnp.sqrt(x),
        jnp.log(y),
        jnp.log1p(x),
        jnp.floor(x),
    ),
    "order": lambda x, y: jnp.maximum(x, 1.0) + jnp.minimum(y, x) + jnp.clip(x, -1, 1),
    "choices": lambda x, y: jnp.where((x > y) & ~(x == 2) | (y <= 0), x, -jnp.inf),
    "matrix products": lambda x, y: jnp.exp(x @ y.T),
    "reductions": lambda x, y: x.sum(1) * y.max(1) - x.min(1),
    "casts": lambda x, y: x.astype("bfloat16").astype("float32") + (y > 0).astype("float32"),
    "few bits": lambda x, y: (
        x.astype("float8_e4m3fn").astype("float32") + 1,
        jax.lax.reduce_precision(y, 5, 2) + 1,
        jax.lax.reduce_precision(x, 8, 23) + 1,
    ),
    "float16": lambda x, y: x.astype("float16") * y.astype("float16"),
    "functions in 16 bits": lambda x, y: [
        each(z.astype(dtype))
        for dtype in ("bfloat16", "float16")
        for each, z in [
            (jnp.exp, y),
            (jnp.tanh, y),
            (jax.nn.sigmoid, y),
            (jnp.sqrt, x),
            (jnp.log, x),
            (jnp.log1p, y),
        ]
    ],
    "integers": lambda x, y: jnp.int8(x) * jnp.int8(y) + (jnp.int8(x) // 3) % 5,
    "bits": lambda x, y: (
        jnp.bitwise_or.reduce(jnp.int8(x), 1),
        jnp.bitwise_and.reduce(jnp.int8(y), 1),
        (x > 0).any(1),
        (y > 0).all(1),
    ),
}

SPECIAL = [0.0, -0.0, 1.0, 2.0, -7.5, 90.0, -120.0, 1e-30, 3e38, np.inf, -np.inf, np.nan]

FAR = [*SPECIAL, 1e20, -1e20, -3e38, 1e-38, -1e-38, 65504.0, -7e4, 88.8, -103.9, 0.5, -1e9]
"""And what is flushed to zero, and about where functions leave the range of a type."""


def arrays() -> list[tuple[np.ndarray, np.ndarray]]:
    """Ordinary numbers, numbers close together, positive ones, special ones, and few of these."""
    random = np.random.default_rng(0)
    made = [
        random.normal(size=(2, 4, 5)) * scale + shift
        for scale, shift in [(1, 0), (30, 0), (0.1, 5), (1e-6, 2), (0, 0), (1e20, 0), (2, -100)]
    ]
    made += [random.choice(SPECIAL, size=(2, 4, 5)) for _ in range(30)]
    few = [random.choice(FAR, size=(2, random.integers(1, 4))) for _ in range(100)]
    made += [np.stack([random.choice(each, size=(4, 5)) for each in two]) for two in few]
    return [(each[0].astype("float32"), each[1].astype("float32")) for each in made]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_all_elements_are_inside(name: str) -> None:
    function = FUNCTIONS[name]
    graph = read(jax.make_jaxpr(lambda x, y: jax.tree.leaves(function(x, y)))(*arrays()[0]))
    run = jax.jit(lambda x, y: _all(graph, x, y))
    known = 0
    for x, y in arrays():
        values = dict(zip([v for n in graph.nodes for v in n.outputs], run(x, y), strict=True))
        intervals: dict[Any, Interval] = {}
        for value, array in zip(graph.inputs, (x, y), strict=True):
            intervals[value] = _whole(array)
        for node in graph.nodes:
            given = [
                exactly(i.value) if isinstance(i, Literal) else intervals[i] for i in node.inputs
            ]
            intervals[node.output] = found = interval_of(node, given)
            if bool(found.sound):
                known += 1
                _assert_inside(np.asarray(values[node.output]).astype("float64"), found, node.name)
    assert known > 10


def _all(graph: Any, *inputs: Any) -> list[Any]:
    known = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        given = [i.value if isinstance(i, Literal) else known[i] for i in node.inputs]
        known.update(zip(node.outputs, node.apply(given), strict=True))
    return [known[v] for n in graph.nodes for v in n.outputs]


def _whole(array: np.ndarray) -> Interval:
    return as_read(joined(of_each(array), tuple(range(array.ndim))))


def _assert_inside(elements: np.ndarray, found: Interval, name: str) -> None:
    assert not np.isnan(elements).any(), name
    assert (elements >= float(found.low)).all(), (name, elements.min(), found)
    assert (elements <= float(found.high)).all(), (name, elements.max(), found)


@pytest.mark.parametrize("least", [-128, -63])
def test_the_smallest_integer_has_no_absolute_value(least: int) -> None:
    """It wraps around to itself; half as large, no integer wraps."""
    x = np.array([least, 2], "int8")
    (node,) = read(jax.make_jaxpr(jnp.abs)(x)).nodes
    found = interval_of(node, [_whole(x)])
    assert bool(found.sound) == (least == -63)
    if found.sound:
        _assert_inside(np.abs(x).astype("float64"), found, "abs")


def test_an_exact_zero_stays_one_and_an_underflow_is_one() -> None:
    x = jnp.zeros((3, 3))
    graph = read(jax.make_jaxpr(lambda x, y: [x * y, jnp.exp(y - 1e9)])(x, x))
    product, _, exponential = graph.nodes
    zero, finite = _whole(np.zeros((2, 2), "float32")), _whole(np.full((2, 2), 3.0, "float32"))
    assert interval_of(product, [zero, finite]).is_zero
    far = Interval(np.float32(-1e9), np.float32(-1e8), np.bool_(True))
    assert interval_of(exponential, [far]).is_zero


def test_sums_of_what_was_masked_are_zero() -> None:
    x = jnp.ones((3, 3))
    graph = read(jax.make_jaxpr(jax.grad(lambda x: (x * x * x).sum()))(x))
    (added,) = {node.name: node for node in graph.nodes if node.name == "add_any"}.values()
    zero, one = exactly(0.0), exactly(1.0)
    assert interval_of(added, [zero, zero]).is_zero
    assert not interval_of(added, [zero, one]).is_zero
    minus = read(jax.make_jaxpr(lambda x: -x)(x)).nodes[0]
    assert interval_of(minus, [zero]).is_zero
    assert not interval_of(minus, [one]).is_zero


@pytest.mark.parametrize("least", [1.5e38, 1e37])
def test_what_is_divided_by_the_largest_numbers_is_not_lost(least: float) -> None:
    """Their inverses may be, as no processor need know numbers below the smallest normal one."""
    x = jnp.zeros((3, 3))
    (quotient,) = read(jax.make_jaxpr(lambda x, y: x / y)(x, x)).nodes

    @jax.jit
    def ends(low: Any, high: Any) -> Any:
        given = Interval(low, high, jnp.bool_(True))
        found = interval_of(quotient, [given, given])
        return found.low, found.high, found.sound

    low, high, sound = ends(jnp.float32(least), jnp.float32(2 * least))
    assert not sound or low <= 0.5 < 2.0 <= high
    assert bool(sound) == (least < 1e38)


def test_what_is_divided_by_a_root_of_16_bits_is_finite() -> None:
    """Its rounding is one of 16 bits, and that of the root is not."""
    x = jnp.zeros((3, 3), "bfloat16")
    root, quotient = read(jax.make_jaxpr(lambda x, y: x / jnp.sqrt(y))(x, x)).nodes
    found = interval_of(root, [exactly(128.0)])
    assert 10.9 < found.low < np.sqrt(128) < found.high < 11.7
    assert interval_of(quotient, [exactly(3.0), found]).is_finite


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("low", "is_sound"), [(-3e38, False), (-1.0, True)])
def test_a_sum_whose_parts_may_be_both_infinities_may_be_no_number(
    low: float, is_sound: bool
) -> None:
    """On a machine with other vectors, another part of it overflows first."""
    x = jnp.zeros((8,))
    graph = read(jax.make_jaxpr(lambda x: [x.sum(), x @ jnp.maximum(x, 0.0)])(x))
    total = next(node for node in graph.nodes if node.name == "reduce_sum")
    given = Interval(np.float32(low), np.float32(3e38), np.bool_(True))
    found = interval_of(total, [given])
    assert bool(found.sound) == is_sound
    assert np.isposinf(found.high)
    product = next(node for node in graph.nodes if node.name == "dot_general")
    assert not interval_of(product, [given, given]).sound
