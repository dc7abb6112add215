"""Recurrences in max-plus, min-plus and log space, and with another matrix in each step, in
parallel."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost import on_device
from orchestrator_core.conductor.facts.affine import Kind, System
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.algebras import algebra_of
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients
from tests.conductor.recurrence.test_parallel import ALONE, H200, parallel

LENGTH = 70


def log_space(k: Any, h: Any, start: Any) -> Any:
    def step(c: Any, now: Any) -> Any:
        k, h = now
        c = jnp.logaddexp(c - jax.nn.softplus(k), h - jax.nn.softplus(-k))
        return c, jnp.exp(c)

    return lax.scan(step, start, (k, h))[1]


def stabilised_by_hand(k: Any, h: Any, start: Any) -> Any:
    """From the last to the first, with a maximum that is taken off and put back."""

    def step(c: Any, now: Any) -> Any:
        k, h = now
        top = jnp.maximum(c + k, h)
        c = jnp.log(2.0 * jnp.exp(c + k - top) + jnp.exp(h - top)) + top
        return c, c

    return lax.scan(step, start, (k, h), reverse=True)[1]


def largest(k: Any, h: Any, start: Any) -> Any:
    return lax.scan(lambda c, now: (jnp.maximum(c + now[0], now[1]),) * 2, start, (k, h))[1]


def smallest_with_resets(k: Any, h: Any, start: Any) -> Any:
    def step(c: Any, now: Any) -> Any:
        k, h = now
        c = jnp.where(k > 1, h, jnp.minimum(c - k, h))
        return c, 2 * c

    return lax.scan(step, start, (k, h))[1]


def two_that_need_each_other(k: Any, h: Any, start: Any) -> Any:
    def step(c: Any, now: Any) -> Any:
        (a, b), (k, h) = c, now
        a, b = jnp.maximum(a - 1, b + k), jnp.maximum(a + h, b - 1)
        return (a, b), a + b

    return lax.scan(step, (start, start), (k, h))[1]


FUNCTIONS = [
    *(log_space, stabilised_by_hand, largest),
    *(smallest_with_resets, two_that_need_each_other),
]


def arguments() -> list[Any]:
    return normal((LENGTH, 5), (LENGTH, 5), (5,))


def test_values_also_far_from_zero() -> None:
    k, h, start = arguments()
    far = [k.at[7].set(-300.0).at[30].set(90.0), h.at[9, 1].set(-1e30).at[40].set(500.0), start]
    for function in FUNCTIONS[1:]:
        assert max(errors(function, run(parallel(function, far), far), far)) < 1e-6
    near = [k.at[7].set(-80.0).at[30].set(80.0), h.at[9, 1].set(-1e30), start]
    assert max(errors(log_space, run(parallel(log_space, near), near), near)) < 1e-5


@pytest.mark.parametrize("function", [stabilised_by_hand, two_that_need_each_other])
def test_what_is_no_number(function: Any) -> None:
    """As the loop has it: NaN spreads, and infinity of either sign is what it is."""
    k, h, start = arguments()
    plain, done = jax.jit(function), jax.jit(parallel(function, [k, h, start]))
    for what in (jnp.nan, jnp.inf, -jnp.inf):
        for given in ([k, h.at[20, 2].set(what), start], [k, h, start.at[1].set(what)]):
            made, exact = done(*given)[0], plain(*given)
            np.testing.assert_allclose(made, exact, rtol=1e-5, atol=1e-5)


def begun_anew(k: Any, h: Any, start: Any) -> Any:
    """Where two infinities have no difference."""

    def step(c: Any, now: Any) -> Any:
        k, h = now
        c = jnp.where(jnp.isnan(c - h), 0.5, jnp.logaddexp(c, h))
        return c, c + k

    return lax.scan(step, start, (k, h))[1]


@pytest.mark.parametrize("function", [log_space, stabilised_by_hand, begun_anew])
def test_nothing_and_nothing_is_what_the_loop_makes_of_it(function: Any) -> None:
    """The logarithm of nothing is minus infinity, and less its own maximum NaN."""
    k, h, start = arguments()
    nothing = [k, h.at[:9].set(-jnp.inf).at[-9:].set(-jnp.inf), start - jnp.inf]
    (made,) = run(parallel(function, [k, h, start]), nothing)
    np.testing.assert_allclose(made, run(function, nothing), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_gradients() -> None:
    def all_(k: Any, h: Any, start: Any) -> Any:
        return [f(k, h, start) for f in (log_space, largest)]

    given, train = arguments(), with_gradients(all_, 3)
    with on_device(H200):
        made, sites, _ = rewritten(train, given, ALONE)
    assert [site.settings.get("form") for site in sites].count("parallel") >= 3
    assert max(errors(train, run(made, given), given)) < 1e-5


def matrices(a: Any, b: Any, start: Any) -> Any:
    """Householder reflections, one of another length in each step."""

    def step(c: Any, now: Any) -> Any:
        a, b = now
        c = c - 1.5 * a * (a @ c) + b
        return c, jnp.tanh(c)

    return lax.scan(step, start, (a / jnp.linalg.norm(a, axis=1, keepdims=True), b))[1]


@pytest.mark.slow
def test_another_matrix_in_each_step_with_gradients() -> None:
    """As exact as is promised: processors differ, and one had 1.02e-6."""
    given, train = arguments(), with_gradients(matrices, 3)
    assert max(errors(matrices, run(parallel(matrices, given), given), given)) < 1e-5
    with on_device(H200):
        made, sites, _ = rewritten(train, given, ALONE)
    assert "parallel" in [site.settings.get("form") for site in sites]
    assert max(errors(train, run(made, given), given)) < 1e-5


def test_a_reading_that_random_numbers_do_not_bear_out_is_refused() -> None:
    """Whole numbers of a sum are not the sum of whole numbers."""

    def function(x: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = jnp.maximum(c.astype(jnp.int32).astype(jnp.float32) + x, 0.5)
            return c, c

        return lax.scan(step, jnp.zeros(5), x)[1]

    graph = read(_jax.trace(function, normal((9, 5))))
    scan = Scan.of(next(node for node in graph.nodes if node.name == "scan"))
    with pytest.raises(NotImplementedError):
        algebra_of(scan, System((0,), Kind.TROPICAL), [])
