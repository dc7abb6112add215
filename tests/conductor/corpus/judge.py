"""Is a conducted result right? Asked of the original in the same precision, and of float64.

Where the original is right, the conducted result is equal to it up to the order of sums. Where
rewriting as in real numbers moves more than that, the conducted result has to be nearer to the
float64 value. `strict` allows no such excuse. Where the last digits of the arguments alone move the
original's result, as of the cosine of 1e38, as much is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Relative to the largest number of a result: sums of some hundreds in another order."""

NOISE = 8.0
"""As many times the original's own error, or what the last digits of the arguments make of it, may
the conducted result differ."""

NEARLY = 1e-3
"""How well a result has to be met, relative to itself, where the original overflowed."""


@dataclass(frozen=True)
class Verdict:
    """Attributes:
    error: the largest difference from the original or, if that is nearer, from the float64
        value, relative to the largest number of the result.
    """

    is_right: bool
    error: float
    why: str = ""


def judged(
    conducted: Any,
    original: Any,
    exact: Callable[[], Any],
    is_strict: bool = False,
    shaken: Callable[[], tuple[Any, Any]] | None = None,
) -> Verdict:
    """Of trees of arrays.

    Args:
        exact: in float64. shaken: the original, and in float64, of arguments that differ in their
            last digits. Both are evaluated only if the original does not suffice.
    """
    ours, theirs = jax.tree.leaves(conducted), jax.tree.leaves(original)
    if jax.tree.structure(conducted) != jax.tree.structure(original):
        return Verdict(False, np.inf, "another tree")
    verdicts = [_leaf(a, b, b, TOLERANCE, True) for a, b in zip(ours, theirs, strict=True)]
    if all(verdict.is_right for verdict in verdicts):
        return _worst(verdicts)
    wide = jax.tree.leaves(exact())
    shakes = [jax.tree.leaves(each) for each in ((theirs, wide) if shaken is None else shaken())]
    most = max((_scale(_numbers(each)) for each in wide), default=0.0)
    return _worst(
        [
            _leaf(a, b, c, TOLERANCE, is_strict, most, shake)
            for a, b, c, *shake in zip(ours, theirs, wide, *shakes, strict=True)
        ]
    )


def _worst(verdicts: list[Verdict]) -> Verdict:
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    return max(wrong or verdicts, key=lambda each: each.error, default=Verdict(True, 0.0))


def _leaf(
    ours: Any,
    theirs: Any,
    exact: Any,
    tolerance: dict[str, float],
    is_strict: bool,
    most: float = 0.0,
    shaken: Sequence[Any] = (),
) -> Verdict:
    """`most`: the largest number of all results, whose rounding may reach a result near zero."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return Verdict(False, np.inf, f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}")
    if not jnp.issubdtype(ours.dtype, jnp.inexact):
        same = bool((np.asarray(ours) == np.asarray(theirs)).all())
        return Verdict(same, 0.0 if same else np.inf, "" if same else "other integers")
    eps = _tolerance(ours.dtype, tolerance)
    a, b, c = (_numbers(each) for each in (ours, theirs, exact))
    largest = _largest(ours.dtype)
    c = np.where(np.abs(c) > largest, np.copysign(np.inf, c), c)
    scale = max(_scale(np.where(np.isfinite(b), c, np.nan)), np.finfo(np.float32).tiny)
    moved, off, missed = _apart(a, b), _apart(b, c), _apart(a, c)
    allowed = eps * scale + NOISE * _typical(off) + 1e-2 * eps * most
    for each, still in zip(shaken, (theirs, exact), strict=False):
        allowed = allowed + NOISE * _apart(_numbers(each), _numbers(still))
    is_right = (moved <= allowed) | (allowed > largest)
    if not is_strict:
        is_right |= missed <= np.where(
            np.isfinite(off), off + allowed, allowed + NEARLY * np.abs(np.nan_to_num(c))
        )
    error = float(np.minimum(moved, missed).max(initial=0.0)) / scale
    if is_right.all():
        return Verdict(True, error)
    at = tuple(int(each) for each in np.argwhere(~is_right)[0])
    why = f"{(~is_right).sum()} of {a.size}, first {at}: {a[at]:.9g} for {b[at]:.9g} ({c[at]:.9g})"
    return Verdict(False, error, why)


def _largest(dtype: Any) -> float:
    """Beyond this there is only infinity."""
    return float(jnp.finfo(dtype).max)


def _tolerance(dtype: Any, tolerance: dict[str, float]) -> float:
    return tolerance.get(str(dtype), tolerance["float32"])


def _numbers(leaf: Any) -> np.ndarray[Any, Any]:
    """As float64; complex numbers as pairs."""
    array = np.asarray(leaf)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag], -1)
    return array.astype(np.float64)


def _scale(numbers: np.ndarray[Any, Any]) -> float:
    finite = np.abs(numbers[np.isfinite(numbers)])
    return float(finite.max(initial=0.0))


def _apart(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Zero where both are NaN or the same infinity, infinite where only one is."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))


def _typical(off: np.ndarray[Any, Any]) -> float:
    """The original's own error, a few bad places aside."""
    finite = off[np.isfinite(off)]
    return float(np.quantile(finite, 0.9)) if finite.size else 0.0
