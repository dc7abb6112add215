"""Functions compiled ahead: the same values, each combination once, and what that took, told."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ahead import Ahead
from orchestrator_core.conductor.goal import Goal, goal_of
from orchestrator_core.conductor.traced import Traced

ALWAYS = Goal(always=True)


def attention(q: Any, k: Any, v: Any, *, scale: float = 1.0, name: str = "") -> Any:
    return jax.nn.softmax(scale * q @ k.T) @ v, name


def arrays(length: int = 256) -> Iterator[jax.Array]:
    return (jax.random.normal(jax.random.key(i), (length, 32)) for i in range(3))


def test_the_values_are_those_of_the_function_to_float32() -> None:
    q, k, v = arrays()
    expected, _ = attention(q, k, v, scale=0.3)
    prepared = Ahead(attention, ALWAYS).prepare((q, k, v), {"scale": 0.3, "name": "head"})
    found, name = prepared()
    assert name == "head"
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert (prepared.ready.changed, prepared.ready.sites) == (2, 3), "no kernels without a GPU"
    assert "2 of 3 sites" in str(prepared.ready)


def test_a_combination_is_compiled_once_and_takes_no_time_of_the_clock_afterwards() -> None:
    ahead = Ahead(lambda x, n: x * n, Goal(), clock=lambda: float(next(ticks)))
    ticks = count()
    x = jnp.arange(4.0)
    first = ahead.prepare((x, 2), {})
    again = [ahead.prepare((x + i, i), {}) for i in range(3)]
    other = ahead.prepare((jnp.arange(5.0), 2), {})
    assert [each.is_new for each in (first, *again, other)] == [True, False, False, False, True]
    assert ahead.compiled == 2
    assert first.seconds == 1.0, "one tick from asking to being there"
    np.testing.assert_array_equal(again[2](), 2 * (np.arange(4.0) + 2))


def test_memory_is_what_xla_counts() -> None:
    x = jnp.zeros((1000, 10), jnp.float32)
    ready = Ahead(lambda x: (x.T @ x, x + 1), Goal()).prepare((x,), {}).ready
    assert ready.argument_bytes == 40_000
    assert 40_400 <= ready.extra_bytes < 200_000


def branches(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def prints_values(x: Any) -> Any:
    jax.debug.print("{}", x)
    return x


def returns_a_number(x: Any) -> Any:
    return float(x.sum())


@pytest.mark.parametrize(
    ("function", "said", "is_compiled"),
    [
        (branches, "TracerBoolConversionError", False),
        (returns_a_number, "ConcretizationTypeError", False),
        (prints_values, "side effects", True),
        (lambda x: 3, "no arrays", False),
    ],
)
def test_what_is_not_conducted_runs_as_it_is_and_says_why(
    function: Any, said: str, is_compiled: bool
) -> None:
    x = jnp.arange(3.0)
    prepared = Ahead(function, Goal()).prepare((x,), {})
    assert said in prepared.ready.reason
    assert prepared.is_new == prepared.ready.is_compiled == is_compiled
    np.testing.assert_array_equal(prepared(), function(x))


def test_what_cannot_be_compiled_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Traced, arrays: list[Any]) -> Any:
        raise RuntimeError("no such device\nand much more")

    monkeypatch.setattr(Traced, "compile", fails)
    ahead = Ahead(lambda x: x + 1, Goal())
    prepared = ahead.prepare((jnp.arange(2.0),), {})
    assert prepared.ready.reason == "it could not be prepared: RuntimeError: no such device"
    np.testing.assert_array_equal(prepared(), [1.0, 2.0])


def test_nothing_is_donated_since_others_may_need_it() -> None:
    x = jnp.arange(3.0)
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    np.testing.assert_array_equal(Ahead(step, Goal()).prepare((x,), {})(), [1.0, 2.0, 3.0])
    assert not x.is_deleted()


def test_threads_that_ask_at_once_compile_once() -> None:
    ahead, x = Ahead(lambda x: jnp.sin(x) + 1, Goal()), jnp.arange(64.0)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(ahead.prepare((x,), {})())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ahead.compiled == 1
    for each in found:
        np.testing.assert_array_equal(each, found[0])
    assert len(found) == 4


def test_the_goal_is_kept_to() -> None:
    q, k, v = arrays()
    goal = dataclasses.replace(ALWAYS, allow=goal_of(allow="loops").allow)
    ready = Ahead(attention, goal).prepare((q, k, v), {}).ready
    assert ready.changed == 0
