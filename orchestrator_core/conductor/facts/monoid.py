"""A certificate that an operation is associative: tried on random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.number_types import in_bits

BITS = 64
"""Of the numbers that are tried: between few bits, another number and rounding look the same."""

SCALES = tuple(10.0**k for k in range(-8, 9))
"""Of numbers of both signs: what an operation does may hang on sizes, as of a sum cut off at 10."""

SAMPLES = 64
"""Numbers of each kind, at least, that are tried at once."""

SAME, NOTHING = 1e-9, 1e-12
"""So close, relative to themselves, numbers are the same; and beside the largest as good as zero.
"""

Operation = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
"""Of two tuples of arrays."""

Numbers: TypeAlias = list[np.ndarray[Any, Any]]
"""For a tuple of arrays."""


def is_associative(operation: Operation, avals: Sequence[Any]) -> bool:
    """Is ``f(f(a, b), c)`` the same as ``f(a, f(b, c))`` up to rounding?

    Of polynomials, equality at random places is equality but for a chance of measure zero (J.
    Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", 1980); of
    what is another polynomial here and there, where each of them is met. Values that are not finite
    on both sides say nothing; some must be finite.

    Args:
        operation: is given numbers of 64 bits where `avals` have 16 or 32.
        avals: of the arrays of one tuple.
    """
    types = [in_bits(aval.dtype, BITS) for aval in avals]
    count = max(1, SAMPLES // max((aval.size for aval in avals), default=1))
    tried = list(_tried([(count, *aval.shape) for aval in avals]))
    is_known = np.zeros(len(avals), bool)

    def bracketed(a: Any, b: Any, c: Any) -> Any:
        return operation(operation(a, b), c), operation(a, operation(b, c))

    try:
        with _jax.no_trace(), jax.enable_x64(True):
            both = jax.jit(jax.vmap(bracketed))
            for tuples in tried:
                given = [list(map(_of_type, numbers, types)) for numbers in tuples]
                pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(*both(*given), strict=True)]
                if not all(_is_equal(*pair) for pair in pairs):
                    return False
                is_known |= [bool(_are_finite(*pair).any()) for pair in pairs]
    except TypeError:
        return False
    return bool(is_known.all())


def _tried(shapes: Sequence[tuple[int, ...]]) -> Iterator[list[Numbers]]:
    """Three tuples at a time: of both signs and all sizes, between 0.1 and 0.9, and such as flags
    and counters are."""
    random = np.random.default_rng(0)
    normal = [[random.normal(size=shape) for shape in shapes] for _ in range(3)]
    for scale in SCALES:
        yield [[scale * each for each in numbers] for numbers in normal]
    yield [[random.uniform(0.1, 0.9, shape) for shape in shapes] for _ in range(3)]
    yield [[random.integers(-1, 3, shape) / 1.0 for shape in shapes] for _ in range(3)]


def _of_type(numbers: np.ndarray[Any, Any], dtype: Any) -> Any:
    if jnp.issubdtype(dtype, jnp.bool_):
        return jnp.asarray(numbers > numbers.mean())
    if jnp.issubdtype(dtype, jnp.integer):
        info: Any = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
        return jnp.asarray(np.clip(np.rint(numbers), int(info.min), int(info.max)), dtype)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return jnp.asarray(numbers + 1j * np.roll(numbers, 1), dtype)
    return jnp.asarray(numbers, dtype)


def _is_equal(a: Any, b: Any) -> bool:
    if a.shape != b.shape or not jnp.issubdtype(a.dtype, jnp.inexact):
        return a.shape == b.shape and bool((a == b).all())
    finite = _are_finite(a, b)
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    a, b = a[finite].astype(wide), b[finite].astype(wide)
    sizes = np.maximum(np.abs(a), np.abs(b))
    return bool((np.abs(a - b) <= SAME * sizes + NOTHING * sizes.max(initial=0.0)).all())


def _are_finite(a: Any, b: Any) -> Any:
    return jnp.isfinite(a) & jnp.isfinite(b)
