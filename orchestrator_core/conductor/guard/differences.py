"""In what two results differ by more than rewriting may change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import _jax

WIDE_ROUNDINGS = 1024
"""Of sums in another order: n terms differ by at most n roundings, usually by about sqrt(n)."""

NARROW_ROUNDINGS = 16
"""Types of 16 bits and less, whose sums are taken in 32."""


def tolerance(dtype: Any) -> float:
    """By how much results may differ, relative to the largest finite magnitude of the expected
    array: 1024 roundings of float32 (1.2e-4), float64 (2.3e-13) and their complex types, 16 of
    bfloat16 (0.125) and float16 (0.016). Of integers and booleans nothing: 0."""
    if not _jax.is_inexact(dtype):
        return 0.0
    epsilon = _jax.epsilon(dtype)
    return epsilon * (WIDE_ROUNDINGS if epsilon < 1e-5 else NARROW_ROUNDINGS)


def difference(expected: Sequence[Any], found: Sequence[Any]) -> str | None:
    """In words, the first difference of two lists of arrays; None if there is none.

    NaN must be where NaN is expected, and so must infinities of each sign; all other elements must
    be within `tolerance`.
    """
    for position, (one, other) in enumerate(zip(expected, found, strict=True)):
        said = _difference(one, other)
        if said is not None:
            return f"output {position}: {said}"
    return None


def _difference(expected: Any, found: Any) -> str | None:
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    if _jax.is_extended(expected.dtype):
        expected, found = jax.random.key_data(expected), jax.random.key_data(found)
    allowed = tolerance(expected.dtype)
    one, other = _wide(expected), _wide(found)
    if allowed == 0:
        wrong = int(np.sum(one != other))
        return f"{wrong} of {one.size} elements are others" if wrong else None
    for what, is_it in (("NaN", np.isnan), ("+inf", np.isposinf), ("-inf", np.isneginf)):
        if any(np.any(is_it(a) != is_it(b)) for a, b in _parts(one, other)):
            return f"{what} elsewhere than expected"
    return _too_far(one, other, allowed)


def _too_far(expected: Any, found: Any, allowed: float) -> str | None:
    finite = np.isfinite(expected)
    if not finite.any():
        return None
    scale = float(np.max(np.abs(expected[finite])))
    worst = float(np.max(np.abs(expected[finite] - found[finite])))
    if worst <= allowed * scale:
        return None
    relative = worst / scale if scale else np.inf
    return f"off by {relative:.1e} of the largest element, {allowed:.1e} is allowed"


def _wide(array: Any) -> Any:
    """In NumPy's widest type of the kind."""
    plain = np.asarray(array)
    if np.issubdtype(plain.dtype, np.complexfloating):
        return plain.astype(np.complex128)
    return plain.astype(np.float64) if _jax.is_inexact(plain.dtype) else plain


def _parts(one: Any, other: Any) -> list[tuple[Any, Any]]:
    """Real parts and imaginary parts; ``isposinf`` knows no complex numbers."""
    if np.iscomplexobj(one):
        return [(one.real, other.real), (one.imag, other.imag)]
    return [(one, other)]
