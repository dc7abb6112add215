"""Random inputs that look like those of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import _jax


def like(arrays: Sequence[Any], seed: int = 0) -> list[Any]:
    """Arrays of the same shapes and types: normal numbers of the same magnitude for numbers, and
    positive ones where none was negative; integers, booleans and keys as they are, since they may
    say where something is, and numbers of Python, too."""
    random = np.random.default_rng(seed)
    return [_like(array, random) for array in arrays]


def _like(array: Any, random: np.random.Generator) -> Any:
    if not hasattr(array, "dtype") or not _jax.is_inexact(array.dtype):
        return array
    given = np.asarray(array)
    is_complex = np.iscomplexobj(given)
    plain = given.astype(np.complex128 if is_complex else np.float64)
    finite = plain[np.isfinite(plain)]
    magnitude = float(np.sqrt(np.mean(np.abs(finite) ** 2))) if finite.size else 1.0
    drawn = random.normal(size=plain.shape) * (magnitude or 1.0)
    if is_complex:
        drawn = drawn + 1j * random.normal(size=plain.shape) * (magnitude or 1.0)
    elif finite.size and finite.min() >= 0:
        drawn = np.abs(drawn)
    return jax.numpy.asarray(drawn.astype(given.dtype))
