"""A rewrite that fails when JAX traces it is put back, and only that."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.joint import part
from orchestrator_core.conductor.tile import emission

pytestmark = pytest.mark.usefixtures("forgiving")

Q = jnp.asarray(np.random.default_rng(1).normal(size=(1024, 16)), jnp.float32)
W = jnp.asarray(np.random.default_rng(2).normal(size=(3, 64, 16)), jnp.float32)


def attention(q: Any) -> Any:
    return jax.nn.softmax(jnp.where(jnp.tri(len(q), dtype=bool), q @ q.T, -1e9)) @ q


def recurrence(x: Any) -> Any:
    def step(h: Any, each: Any) -> Any:
        h = 0.5 * h + each
        return h, h

    return jax.lax.scan(step, jnp.zeros(16), x)[1]


def failing(*_: Any) -> Any:
    raise ValueError("no tile will do")


@pytest.fixture
def tiles_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emission, "careful", lambda _runner: failing)


def changed(made: Any, *arrays: Any) -> set[str]:
    """The rewrites that have changed something."""
    made(*arrays)
    sites = (site for each in made.plan["programs"] for site in each["sites"])
    return {site["rewrite"] for site in sites if site["chosen"] != "as it is"}


@pytest.mark.usefixtures("tiles_fail")
def test_the_call_gives_what_it_gave_and_one_is_told(caplog: pytest.LogCaptureFixture) -> None:
    made = conduct(attention, objective="memory")
    with caplog.at_level(logging.WARNING, "orchestrator.conductor"):
        np.testing.assert_allclose(made(Q), attention(Q), rtol=1e-5)
    (said,) = caplog.messages
    assert said == "a rewrite failed and is put back; please report it"
    assert "put back: it failed (ValueError: no tile will do)" in str(made.explain(Q))
    caplog.clear()
    made(Q)
    jax.jit(made)(Q)
    assert not caplog.messages, "once is enough"


def test_without_failures_it_is_in_tiles() -> None:
    assert "tiling" in changed(conduct(attention, objective="memory"), Q)


@pytest.mark.usefixtures("tiles_fail")
def test_whatever_else_was_rewritten_stays_so() -> None:
    def both(q: Any) -> Any:
        return attention(q) + recurrence(q)

    made = conduct(both, objective="memory")
    np.testing.assert_allclose(made(Q), both(Q), rtol=1e-4, atol=1e-5)
    assert changed(made, Q) == {"algebra", "recurrence"}


def loss(q: Any) -> Any:
    return (attention(q) ** 2).sum()


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "of a call": jax.grad,
    "compiled": lambda f: jax.jit(jax.grad(f)),
    "of each": lambda f: lambda q: jax.vmap(jax.grad(f))(jnp.stack([q, 2 * q]))[0],
    "along a direction": lambda f: lambda q: jax.jvp(jax.grad(f), (q,), (q,))[1],
}


@pytest.mark.parametrize("way", GRADIENTS)
@pytest.mark.usefixtures("tiles_fail")
def test_a_function_planned_with_its_pullback(way: str, caplog: pytest.LogCaptureFixture) -> None:
    made = conduct(loss, objective="memory")
    with caplog.at_level(logging.WARNING, "orchestrator.conductor"):
        found = GRADIENTS[way](made)(Q)
    np.testing.assert_allclose(found, GRADIENTS[way](loss)(Q), rtol=1e-3, atol=1e-2)
    assert set(caplog.messages) == {"a rewrite failed and is put back; please report it"}
    assert "put back: it failed (ValueError: no tile will do)" in str(made.explain(Q))
    caplog.clear()
    GRADIENTS[way](made)(Q)
    assert not caplog.messages, "once is enough"


def test_a_pullback_alone_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forward part hands on what its pullback does not read."""
    made = conduct(loss, objective="memory")
    outputs, pull = jax.vjp(made, Q)
    monkeypatch.setattr(part, "evaluate", failing)
    np.testing.assert_allclose(pull(1.0)[0], jax.grad(loss)(Q), rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(outputs, loss(Q), rtol=1e-5)


def test_a_forward_part_that_fails_when_its_residuals_have_been_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was compiled before would read zeros in their place."""
    made = conduct(loss, objective="memory")
    jax.grad(made)(Q)
    monkeypatch.setattr(part, "evaluate", failing)
    jax.clear_caches()
    with pytest.raises(ValueError, match="no tile will do"):
        jax.grad(made)(Q)
