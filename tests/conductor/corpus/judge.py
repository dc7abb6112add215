"""Is a conducted result right? Asked of the original in the same precision, and of float64.

Where the original is right, the conducted result is equal to it up to the order of sums. Where
rewriting as in real numbers moves more than that, the conducted result has to be as near to the
float64 value as the original is. `strict` allows no such excuse. Where the last digits of the
arguments alone move the original's result, as of the cosine of 1e38, as much is allowed.

Numbers are measured by the largest of their row (the last axis), so that one very large row does
not hide what is wrong in the others. No excuse makes a NaN right where the original is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Relative to the largest number of a row: sums of some hundreds in another order."""

NOISE = 4.0
"""As many times the original's own error, or what the last digits of the arguments make of it, may
the conducted result differ, as long as that is small beside the row."""

SMALL = 0.1
"""Of a row: what is moved by more is no more than doubled."""

KNOWN = 1e-4
"""A row is known to the original if it is as near to the float64 value, relative to its largest.
Where it is not, all of it may be what rounding leaves of larger numbers."""

LEAST = 5e-2
"""The part of the tolerance that larger numbers elsewhere may leave in a row that is not known."""

OVER = 1e-3
"""Of the largest number: what is as large may overflow while it is summed, in one order or another,
to an infinity or, of two of them, to NaN."""

NEARLY = 1e-3
"""How well a result has to be met, relative to itself, where the original overflowed."""

Numbers: TypeAlias = np.ndarray[Any, Any]
Shakes: TypeAlias = Sequence[Any]
"""The original's results of arguments that differ in their last digits."""


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
    shaken: Callable[[], Shakes] | None = None,
) -> Verdict:
    """Of trees of arrays.

    Args:
        exact: in float64. Both it and `shaken` are evaluated only if the original does not suffice.
    """
    ours, theirs = jax.tree.leaves(conducted), jax.tree.leaves(original)
    if jax.tree.structure(conducted) != jax.tree.structure(original):
        return Verdict(False, np.inf, "another tree")
    verdicts = [_leaf(a, b, b, True) for a, b in zip(ours, theirs, strict=True)]
    if all(verdict.is_right for verdict in verdicts):
        return _worst(verdicts)
    wide = jax.tree.leaves(exact())
    shakes = [jax.tree.leaves(each) for each in (shaken() if shaken is not None else ())]
    most = max((_scale(_numbers(each)) for each in wide), default=0.0)
    return _worst(
        [
            _leaf(a, b, c, is_strict, most, shake)
            for a, b, c, *shake in zip(ours, theirs, wide, *shakes, strict=True)
        ]
    )


def _worst(verdicts: list[Verdict]) -> Verdict:
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    return max(wrong or verdicts, key=lambda each: each.error, default=Verdict(True, 0.0))


def _leaf(
    ours: Any, theirs: Any, exact: Any, is_strict: bool, most: float = 0.0, shaken: Shakes = ()
) -> Verdict:
    """`most`: the largest number of all results, whose rounding may reach a row near zero."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return Verdict(False, np.inf, f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}")
    if not jnp.issubdtype(ours.dtype, jnp.inexact):
        same = bool((np.asarray(ours) == np.asarray(theirs)).all())
        return Verdict(same, 0.0 if same else np.inf, "" if same else "other integers")
    limits = _Limits.of(ours.dtype)
    a, b, c = _numbers(ours), _numbers(theirs), limits.held(_numbers(exact))
    others = [_numbers(each) for each in shaken]
    allowed = _allowed(limits, b, c, others, most)
    is_right = (_apart(a, b) <= allowed) | _is_on_the_edge(limits, a, [b, *others], allowed)
    is_right |= np.isinf(a) & np.isnan(b) & (np.abs(c) > OVER * limits.largest)
    if not is_strict:
        is_right |= _is_as_exact(a, b, c, allowed)
    apart = np.minimum(_apart(a, b), _apart(a, c))
    scale = max(_scale(np.where(np.isfinite(b), c, np.nan)), limits.least)
    if is_right.all():
        return Verdict(True, _scale(apart) / scale)
    error = float(apart.max()) / scale
    at = tuple(int(each) for each in np.argwhere(~is_right)[0])
    why = f"{(~is_right).sum()} of {a.size}, first {at}: {a[at]:.9g} for {b[at]:.9g} ({c[at]:.9g})"
    return Verdict(False, error, why)


@dataclass(frozen=True)
class _Limits:
    """Of a type: its relative tolerance, its largest number, and its smallest of full precision."""

    eps: float
    largest: float
    least: float

    @classmethod
    def of(cls, dtype: Any) -> _Limits:
        info = jnp.finfo(dtype)
        eps = TOLERANCE.get(str(dtype), TOLERANCE["float32"])
        return cls(eps, float(info.max), float(info.tiny))

    def held(self, numbers: Numbers) -> Numbers:
        """Beyond the largest there is only infinity."""
        return np.where(np.abs(numbers) > self.largest, np.copysign(np.inf, numbers), numbers)


def _allowed(
    limits: _Limits, theirs: Numbers, exact: Numbers, shaken: Sequence[Numbers], most: float
) -> Numbers:
    """How far from the original each number may be; finite."""
    size = _of_rows(np.where(np.isfinite(theirs), exact, np.nan))
    scale = np.maximum(size, limits.least)
    off = _finite(_apart(theirs, exact))
    error = np.minimum(_of_rows(off), _typical(off))
    # Where the original overflows and no more once shaken, that is how far it moves.
    held = np.clip(theirs, -limits.largest, limits.largest)
    moved = [_finite(_apart(each, held)) for each in shaken]
    noise = _noise(error, scale) + _noise(np.max(moved, axis=0) if moved else 0.0, scale)
    is_known = (size > 0) & (_of_rows(off) <= KNOWN * scale)
    return limits.eps * scale + noise + np.where(is_known, 0.0, LEAST * limits.eps * most)


def _noise(moved: Any, scale: Numbers) -> Any:
    return np.minimum(NOISE * moved, np.maximum(2 * moved, SMALL * scale))


def _is_as_exact(ours: Numbers, theirs: Numbers, exact: Numbers, allowed: Numbers) -> Numbers:
    """Is it as near to the float64 value as the original, or does it meet it where the original
    is not finite?"""
    off, missed = _apart(theirs, exact), _apart(ours, exact)
    nearly = allowed + NEARLY * np.abs(np.nan_to_num(exact))
    near: Numbers = missed <= np.where(np.isfinite(off), off + allowed, nearly)
    return near


def _is_on_the_edge(
    limits: _Limits, ours: Numbers, theirs: Sequence[Numbers], allowed: Numbers
) -> Numbers:
    """Is it what the original is of arguments hardly different: a number or, where the original is
    as good as the largest number, infinity?"""
    found = np.zeros(ours.shape, bool)
    for each in theirs:
        is_over = np.isinf(ours) & (np.sign(ours) == np.sign(each))
        found |= is_over & (np.abs(each) + allowed > limits.largest)
        found |= np.isfinite(ours) & (_apart(ours, each) <= allowed)
    return found


def _numbers(leaf: Any) -> Numbers:
    """As float64; complex numbers as two of them."""
    array = np.asarray(leaf)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag])
    return array.astype(np.float64)


def _finite(numbers: Numbers) -> Numbers:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _of_rows(numbers: Numbers) -> Numbers:
    """The largest finite number of each row, for all of it."""
    sizes = np.abs(_finite(numbers))
    return sizes if sizes.ndim == 0 else sizes.max(-1, keepdims=True, initial=0.0)


def _scale(numbers: Numbers) -> float:
    return float(np.abs(_finite(numbers)).max(initial=0.0))


def _apart(a: Numbers, b: Numbers) -> Numbers:
    """Zero where both are NaN or the same infinity, infinite where only one is."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(same, 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf))


def _typical(off: Numbers) -> float:
    """The original's own error, a few bad places aside."""
    return float(np.quantile(off, 0.9)) if off.size else 0.0
