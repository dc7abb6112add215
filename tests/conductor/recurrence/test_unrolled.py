"""Python loops that were unrolled are rolled up where they are recurrences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import Goal
from tests.conductor.recurrence.judged import errors, normal, rewritten, run, with_gradients


def selective(a: Any, b: Any, c: Any) -> Any:
    """As in small public copies of "Mamba"."""
    x, ys = jnp.zeros(a[:, 0].shape), []
    for i in range(a.shape[1]):
        x = a[:, i] * x + b[:, i]
        ys.append(jnp.einsum("bd,d->b", x, c[i]))
    return jnp.stack(ys, 1)


def average(x: Any) -> Any:
    h, out = x[0], [x[0]]
    for t in range(1, len(x)):
        h = 0.9 * h + 0.1 * x[t]
        out.append(h)
    return jnp.stack(out)


def backward(x: Any) -> Any:
    h = jnp.zeros(x.shape[1])
    for t in reversed(range(len(x))):
        h = 0.5 * h + x[t] / (t + 1)
    return h


def two_before(x: Any) -> Any:
    a = b = x[0]
    for t in range(1, len(x)):
        a, b = b, 0.5 * a + 0.3 * b + x[t]
    return b


def joined(x: Any) -> Any:
    h, out = jnp.zeros((1, x.shape[1])), []
    for t in range(len(x)):
        h = 0.9 * h + x[t : t + 1]
        out.append(h)
    return jnp.concatenate(out, 0)


def every_second_is_shown(x: Any) -> Any:
    h, out = x[0], []
    for t in range(1, len(x)):
        h = jnp.maximum(h - 0.1, x[t])
        if t % 2:
            out.append(h)
    return jnp.stack(out)


def one_by_one(a: Any, b: Any) -> Any:
    h, out = jnp.zeros(a.shape[1]), []
    for decay, x in zip(a, b, strict=True):
        h = jax.nn.sigmoid(decay) * h + x
        out.append(h)
    return jnp.stack(out)


CASES = [
    (selective, [(2, 11, 3), (2, 11, 3), (11, 3)]),
    *((function, [(12, 2)]) for function in (average, backward, two_before, joined)),
    (every_second_is_shown, [(20, 2)]),
    (one_by_one, [(12, 3), (12, 3)]),
]


@pytest.mark.parametrize(("function", "shapes"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_values(function: Any, shapes: list[tuple[int, ...]]) -> None:
    arrays = normal(*shapes)
    rolled, sites, graph = rewritten(function, arrays, Goal(always=True))
    assert any("unrolled" in site.found and site.is_changed for site in sites)
    assert sum(node.name == "scan" for node in graph.nodes) == 1
    assert max(errors(function, run(rolled, arrays), arrays)) < 2e-6


def test_gradients() -> None:
    arrays = normal(*CASES[0][1])
    train = with_gradients(selective, 3)
    rolled, sites, _ = rewritten(train, arrays, Goal(always=True))
    assert any("unrolled" in site.found and site.is_changed for site in sites)
    assert max(errors(train, run(rolled, arrays), arrays)) < 5e-6


def test_for_time_small_steps_stay_unrolled() -> None:
    """XLA makes one kernel of them; a loop would begin each anew."""
    arrays = normal((12, 2))
    _, sites, graph = rewritten(average, arrays, Goal())
    assert not any(site.is_changed for site in sites)
    assert not any(node.name == "scan" for node in graph.nodes)
    _, sites, _ = rewritten(average, arrays, Goal(objective="memory"))
    assert any(site.is_changed for site in sites)


def test_for_time_turns_that_would_be_a_plain_loop_stay_unrolled() -> None:
    """In a loop power iteration took 2.4 times as long, and gradients of recurrent layers, which
    are affine loops, too, up to 37 times."""

    def linear(w: Any, x: Any) -> Any:
        h = jnp.zeros_like(x[0])
        for t in range(len(x)):
            h = h @ w + x[t]
        return h

    arrays = normal((256, 256), (24, 16, 256))
    _, sites, graph = rewritten(linear, arrays, Goal())
    assert not any(node.name == "scan" for node in graph.nodes)
    assert any("no faster than its turns in a row" in site.reason for site in sites)
    _, sites, _ = rewritten(linear, arrays, Goal(objective="memory"))
    assert any("unrolled" in site.found and site.is_changed for site in sites)


def test_what_is_no_recurrence_stays_unrolled() -> None:
    def layers(x: Any, w: Any) -> Any:
        for k in range(w.shape[0]):
            x = jnp.tanh(x @ w[k])
        return x

    arrays = normal((3, 4), (9, 4, 4))
    same, sites, _ = rewritten(layers, arrays, Goal(always=True))
    assert not any(site.is_changed for site in sites)
    assert jnp.array_equal(jax.jit(same)(*arrays)[0], jax.jit(layers)(*arrays))


def test_a_turn_that_differs_ends_the_loop() -> None:
    def odd(x: Any) -> Any:
        h = x[0]
        for t in range(1, len(x)):
            h = 0.5 * h + (x[t] if t != 9 else jnp.sin(x[t]))
        return h

    arrays = normal((20, 2))
    rolled, _, _ = rewritten(odd, arrays, Goal(always=True))
    assert max(errors(odd, run(rolled, arrays), arrays)) < 2e-6


def test_zeros_of_two_signs_are_two_numbers() -> None:
    """A quotient by zero goes by its sign."""

    def alternating(x: Any) -> Any:
        h = x[0]
        for t in range(1, len(x)):
            h = 0.5 * h + jnp.clip(x[t] / (0.0 if t % 2 else -0.0), -1, 1)
        return h

    arrays = normal((12, 2))
    rolled, sites, _ = rewritten(alternating, arrays, Goal(always=True))
    assert any("unrolled" in site.found and site.is_changed for site in sites)
    assert max(errors(alternating, run(rolled, arrays), arrays)) < 2e-6
