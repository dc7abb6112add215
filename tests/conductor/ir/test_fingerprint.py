"""Fingerprints: equal for traces of which one's plan holds for the other, and for no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.fingerprint import Fingerprint, fingerprint
from tests.conductor.ir.traces import OTHERS, X, net


def of(function: Callable[..., Any], *args: Any) -> Fingerprint:
    """Of a trace of its own."""
    return fingerprint(jax.make_jaxpr(function)(*args))


def test_a_function_that_is_traced_again_has_the_same() -> None:
    first, again = of(net, X), of(net, X)
    assert first == again
    assert hash(first) == hash(again)
    jax.clear_caches()
    assert of(net, X) == first


def test_a_function_that_is_made_again_has_the_same() -> None:
    def made() -> Callable[[jax.Array], jax.Array]:
        @jax.custom_jvp
        def square(x: jax.Array) -> jax.Array:
            return x * x

        square.defjvp(lambda p, t: (square(*p), 2 * p[0] * t[0]))
        return lambda x: jax.jit(lambda y: square(y) + 1)(x)

    assert of(made(), X) == of(made(), X)


def test_no_two_of_these_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jax, "source_of", lambda equation: "")
    found = [of(function, argument) for function, argument in OTHERS]
    assert len(set(found)) == len(found)
    assert all(a != b for k, a in enumerate(found) for b in found[:k])


def test_lines_count() -> None:
    """What is explained names them."""

    def here(x: jax.Array) -> jax.Array:
        return x + 1

    def there(x: jax.Array) -> jax.Array:
        return x + 1

    assert of(here, X) != of(there, X)


@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "in a loop"])
def test_settings_count(inside: bool) -> None:
    """The same equations mean other numbers."""

    def drawn(is_partitionable: bool) -> Callable[[jax.Array], jax.Array]:
        def draw(key: jax.Array) -> jax.Array:
            with jax.threefry_partitionable(is_partitionable):
                return jax.random.bits(key, (3,))

        if not inside:
            return draw
        return lambda key: jax.lax.scan(lambda c, _: (c, draw(c)), key, None, length=2)[1]

    key = jax.random.key(0)
    assert of(drawn(True), key) == of(drawn(True), key)
    assert of(drawn(True), key) != of(drawn(False), key)


def test_constants_are_those_that_they_are() -> None:
    a, b = (np.arange(12.0, dtype="float32").reshape(3, 4) + k for k in range(2))
    first, again, other = (of(lambda x, c=c: x + c, X) for c in (a, a, b))
    assert first == again
    assert first != other


def test_functions_are_those_that_they_are() -> None:
    def twice(y: np.ndarray) -> np.ndarray:
        return 2 * y

    def with_callback(function: Callable[..., Any]) -> Fingerprint:
        shape = jax.ShapeDtypeStruct((3, 4), jnp.float32)
        return of(lambda x: jax.pure_callback(function, shape, x), X)

    assert with_callback(twice) != with_callback(lambda y: 3 * y)
