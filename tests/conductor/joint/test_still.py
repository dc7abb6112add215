"""What JAX knows to be zero stays so through a conducted function; no zeros are multiplied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.custom_derivatives import SymbolicZero

from orchestrator_core.conductor import conduct, conducted_call

ONES, ZEROS = jnp.ones(4), jnp.zeros(4)


def steep(x: Array, y: Array) -> Array:
    """Its derivative by `y` is infinite at zero."""
    return x**2 + jnp.sqrt(y)


def two(x: Array, y: Array) -> tuple[Array, Array]:
    return x * 2.0, y * 3.0


@jax.custom_vjp
def only_backwards(x: Array) -> Array:
    return x * 2.0


only_backwards.defvjp(lambda x: (x * 2.0, None), lambda _, moved: (moved * 2.0,))


@jax.custom_jvp
def watchful(x: Array, y: Array) -> Array:
    return x * y


def _with_signs(primals: Any, tangents: Any) -> Any:
    (x, y), (moved, still) = primals, tangents
    return x * y, moved * y + (0.0 if type(still) is SymbolicZero else 100.0)


watchful.defjvp(_with_signs, symbolic_zeros=True)


def called_back(x: Array, y: Array) -> Array:
    return x * jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(y.shape, y.dtype), y)


Way = Callable[[Callable[..., Any], Array], Any]

FORWARD: dict[str, Way] = {
    "jvp": lambda f, x: jax.jvp(f, (x,), (x,))[1],
    "jacfwd": lambda f, x: jax.jacfwd(f)(x),
    "linearize": lambda f, x: jax.linearize(f, x)[1](x),
    "of a gradient": lambda f, x: jax.jvp(jax.grad(lambda x: (f(x) ** 2).sum()), (x,), (x,))[1],
    "hessian": lambda f, x: jax.hessian(lambda x: (f(x) ** 2).sum())(x),
    "gradient of it": lambda f, x: jax.grad(lambda x: jax.jvp(f, (x,), (x,))[1].sum())(x),
    "batched": lambda f, x: jax.vmap(lambda x: jax.jvp(f, (x,), (x,))[1])(jnp.stack([x, x])),
    "compiled": lambda f, x: jax.jit(lambda x: jax.jvp(f, (x,), (x,))[1])(x),
    "twice": lambda f, x: jax.jvp(lambda x: jax.jvp(f, (x,), (x,))[1], (x,), (x,))[1],
}


@pytest.mark.parametrize("way", FORWARD)
@pytest.mark.parametrize(
    ("function", "still"),
    [
        (steep, ZEROS),
        (watchful, ONES),
        (lambda x, y: x**2 + only_backwards(y), ONES),
        (called_back, ONES),
    ],
    ids=["infinite", "a rule that looks", "no forward rule", "no rule at all"],
)
def test_inputs_that_do_not_move(function: Callable[..., Any], still: Array, way: str) -> None:
    plain = FORWARD[way](lambda x: function(x, still), ONES)
    ours = FORWARD[way](lambda x: conduct(function)(x, still), ONES)
    assert np.isfinite(plain).all()
    np.testing.assert_allclose(ours, plain, rtol=1e-6)


BACKWARD: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "an output that is not used": lambda f: jax.grad(
        lambda y: f(ONES, jnp.sqrt(y))[0].sum() + y.sum()
    )(ZEROS),
    "an output that does not move": lambda f: jax.jvp(
        lambda x: jnp.sqrt(f(x, ZEROS)[1]) + f(x, ZEROS)[0], (ONES,), (ONES,)
    )[1],
    "a slope that does not move": lambda f: jax.jvp(
        lambda x: jnp.sqrt(jax.jvp(lambda x: f(x, x)[0], (x,), (ONES,))[1] - 2.0) + x,
        (ONES,),
        (ONES,),
    )[1],
    "of a gradient": lambda f: jax.hessian(
        lambda y: (f(y, jnp.sqrt(jax.lax.stop_gradient(y) * 0.0))[0] ** 2).sum()
    )(ONES),
}


@pytest.mark.parametrize("way", BACKWARD)
def test_outputs_that_nothing_depends_on(way: str) -> None:
    """The square root is infinitely steep at zero."""
    plain, ours = BACKWARD[way](two), BACKWARD[way](conduct(two))
    assert np.isfinite(plain).all()
    np.testing.assert_allclose(ours, plain, rtol=1e-6)


@pytest.mark.parametrize("is_cut", [True, False])
def test_rules_that_only_go_backwards(monkeypatch: pytest.MonkeyPatch, is_cut: bool) -> None:
    """Nobody asks for a pushforward of it, but forwards over backwards there is one."""
    if not is_cut:
        monkeypatch.setattr(conducted_call, "joint_of", lambda *_: None)

    def function(x: Array) -> Array:
        return (only_backwards(x) * x).sum()

    conducted = conduct(function)
    np.testing.assert_allclose(jax.grad(conducted)(ONES), 4.0 * ONES)
    np.testing.assert_allclose(jax.hessian(conducted)(ONES), 4.0 * jnp.eye(4))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(conducted, (ONES,), (ONES,))


def test_an_output_that_is_not_transposed() -> None:
    """The second is infinite in whatever comes back to it."""

    def both(x: Array, y: Array) -> tuple[Array, Array]:
        return x * 2.0, x * y

    def back(function: Callable[..., Any]) -> Array:
        infinite = jnp.full(4, jnp.inf)
        (found,) = jax.linear_transpose(lambda x: function(x, infinite)[0], ONES)(ONES)
        return found

    np.testing.assert_array_equal(back(conduct(both)), back(both))
