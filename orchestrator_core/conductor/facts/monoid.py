"""A certificate that an operation is associative: tried on random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax

ROUNDS = 4
"""Sets of random numbers that are tried; two are of both signs, two between 0.1 and 0.9."""

Operation = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
"""Of two tuples of arrays."""


def is_associative(operation: Operation, avals: Sequence[Any]) -> bool:
    """Is ``f(f(a, b), c)`` the same as ``f(a, f(b, c))`` up to rounding?

    Of polynomials, equality at random places is equality but for a chance of measure zero (J.
    Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", 1980).
    Values that are not finite on both sides say nothing; some must be finite.

    Args:
        avals: of the arrays of one tuple.
    """
    random = np.random.default_rng(0)
    try:
        with _jax.no_trace():
            both = jax.jit(
                lambda a, b, c: (operation(operation(a, b), c), operation(a, operation(b, c)))
            )
            return all(
                _are_equal(*both(*(_draw(random, avals, k % 2 == 0) for _ in range(3))))
                for k in range(ROUNDS)
            )
    except TypeError:
        return False


def _draw(random: Any, avals: Sequence[Any], signed: bool) -> list[Any]:
    return [_array(random, aval, signed) for aval in avals]


def _array(random: Any, aval: Any, signed: bool) -> Any:
    if jnp.issubdtype(aval.dtype, jnp.bool_):
        return jnp.asarray(random.random(aval.shape) < 0.5)
    if jnp.issubdtype(aval.dtype, jnp.integer):
        return jnp.asarray(random.integers(0, 100, aval.shape), aval.dtype)
    made = random.normal(size=aval.shape) if signed else random.uniform(0.1, 0.9, aval.shape)
    if jnp.issubdtype(aval.dtype, jnp.complexfloating):
        made = made + 1j * random.normal(size=aval.shape)
    return jnp.asarray(made, aval.dtype)


def _are_equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return all(_is_equal(np.asarray(a), np.asarray(b)) for a, b in zip(left, right, strict=True))


def _is_equal(a: Any, b: Any) -> bool:
    if a.shape != b.shape or not jnp.issubdtype(a.dtype, jnp.inexact):
        return a.shape == b.shape and bool((a == b).all())
    wide = np.complex128 if jnp.issubdtype(a.dtype, jnp.complexfloating) else np.float64
    rounding = 64 * _eps(a.dtype)
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    if not finite.any():
        return False
    a, b = a[finite], b[finite]
    return bool((np.abs(a - b) <= rounding * (1 + np.maximum(np.abs(a), np.abs(b)))).all())


def _eps(dtype: Any) -> float:
    info: Any = jnp.finfo
    return float(info(dtype).eps)
