"""Arrays that a loop fills slice by slice are stacked by it, and what is left may be affine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.scan import Scan
from tests.conductor.recurrence.judged import normal, rewritten, with_gradients

T, D = 6, 3


def written_at_a_counter(x: Any) -> Any:
    def step(t: Any, carry: Any) -> Any:
        h, out = carry
        h = 0.5 * h + x[t]
        return h, out.at[t].set(h)

    return lax.fori_loop(0, T, step, (jnp.zeros(D), jnp.ones((T, D))))[1]


def written_from_the_end(x: Any) -> Any:
    """Into the middle of a longer array, along its second axis."""

    def step(carry: Any, t: Any) -> Any:
        h, out = carry
        h = 0.5 * h + x[T - 1 - t]
        return (h, lax.dynamic_update_index_in_dim(out, h, T - t, 1)), None

    start = jnp.zeros(D), jnp.ones((D, T + 3))
    return lax.scan(step, start, jnp.arange(T))[0][1]


def in_reverse(x: Any) -> Any:
    def step(carry: Any, t: Any) -> Any:
        h, out = carry
        h = 0.5 * h + x[t]
        return (h, out.at[t + 1].set(h)), h

    start = jnp.zeros(D), jnp.ones((T + 2, D))
    return lax.scan(step, start, jnp.arange(T), reverse=True)


def in_place(x: Any) -> Any:
    """Each slice is read before it is written."""

    def step(t: Any, carry: Any) -> Any:
        h, x = carry
        h = 0.5 * h + x[t]
        return h, x.at[t].set(jnp.sin(h))

    return lax.fori_loop(0, T, step, (jnp.zeros(D), x))


def read_twice(x: Any) -> Any:
    def step(h: Any, t: Any) -> Any:
        h = 0.5 * h + x[t] * x[T - 1 - t]
        return h, h

    return lax.scan(step, jnp.zeros(D), jnp.arange(T))[1]


def reads_what_was_written(x: Any) -> Any:
    def step(t: Any, out: Any) -> Any:
        return out.at[t].set(0.5 * out[t - 1] + x[t])

    return lax.fori_loop(1, T, step, x)


def every_other(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda t, out: out.at[2 * t].set(jnp.sin(x[t])), x)


def beyond_the_end(x: Any) -> Any:
    return lax.fori_loop(2, T + 2, lambda t, out: out.at[t].set(jnp.sin(x[t - 2])), x)


def read_after(x: Any) -> Any:
    def step(t: Any, carry: Any) -> Any:
        out, total = carry
        out = out.at[t].set(x[t])
        return out, total + out.sum()

    return lax.fori_loop(0, T, step, (jnp.zeros((T, D)), 0.0))


def at_what_is_carried(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        out, t = carry
        return (out.at[t].set(row), (t + 2) % T), None

    return lax.scan(step, (jnp.zeros((T, D)), 0), x)[0]


STACKED = [written_at_a_counter, written_from_the_end, in_reverse, in_place]
LEFT = [reads_what_was_written, every_other, beyond_the_end, read_after, at_what_is_carried]


def check(function: Callable[..., Any], *arrays: Any) -> Graph:
    """As the rewrite leaves it, with values proven to be the same."""
    new, _, graph = rewritten(function, arrays)
    made, expected = new(*arrays), jax.tree.leaves(function(*arrays))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert one.dtype == other.dtype
    return graph


def whole(graph: Graph) -> int:
    """Carries with two axes."""
    scans = [Scan.of(node) for _, node in graph.walk() if node.name == "scan"]
    return sum(len(value.shape) >= 2 for scan in scans for value in scan.carry)


@pytest.mark.parametrize("function", STACKED, ids=lambda function: function.__name__)
def test_what_is_filled_is_not_carried(function: Callable[..., Any]) -> None:
    x = normal((T, D))[0]
    assert whole(check(function, x)) == 0
    assert whole(check(with_gradients(function, 1), x)) == 0


@pytest.mark.parametrize("function", LEFT, ids=lambda function: function.__name__)
def test_what_depends_on_other_slices_is_left(function: Callable[..., Any]) -> None:
    x = normal((T, D))[0]
    assert whole(check(function, x)) == 1
    check(with_gradients(function, 1), x)


def test_a_counter_that_wraps_begins_at_the_first_slice_again() -> None:
    """The slices after the 256th are written over the first ones."""

    def wraps(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            out, t = carry
            out = lax.dynamic_update_slice(out, row[None], (t, jnp.zeros_like(t)))
            return (out, t + jnp.asarray(1, t.dtype)), None

        return lax.scan(step, (jnp.zeros((260, 2)), jnp.asarray(0, jnp.uint8)), x)[0][0]

    assert whole(check(wraps, *normal((260, 2)))) == 1


def test_derivatives_of_reading_by_index_add_no_whole_arrays() -> None:
    x = normal((T, D))[0]
    assert whole(check(with_gradients(read_twice, 1), x)) == 0


def test_what_is_left_is_affine() -> None:
    x = normal((T, D))[0]
    _, sites, _ = rewritten(written_at_a_counter, [x])
    assert any("affine (elementwise)" in site.found for site in sites)


def test_under_vmap() -> None:
    x = normal((2, T, D))[0]
    graph = check(jax.vmap(in_place), x)
    assert whole(graph) == 1  # its state, of two rows
