"""64-bit mixing: the same numbers in every process, on every machine, for ever.

Colours of tasks and workers are such numbers. They only guide an order; equality of graphs is
never concluded from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Colours = NDArray[np.uint64]

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_30, _27, _31 = (np.uint64(shift) for shift in (30, 27, 31))


def mix(values: Colours) -> Colours:
    """Each number scrambled, one to one (the finaliser of splitmix64, Steele and others 2014)."""
    x: Colours = values ^ (values >> _30)
    x *= np.uint64(_FIRST)
    x ^= x >> _27
    x *= np.uint64(_SECOND)
    x ^= x >> _31
    return x


def mix_one(x: int) -> int:
    """`mix` of a single number in [0, 2**64)."""
    x = ((x ^ (x >> 30)) * _FIRST) & MASK
    x = ((x ^ (x >> 27)) * _SECOND) & MASK
    return x ^ (x >> 31)


def combine(*columns: NDArray[Any]) -> Colours:
    """One colour for each row of these columns of numbers; their order matters."""
    colour = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        colour = mix(colour * np.uint64(GOLDEN) + _bits(column))
    return colour


def of_texts(texts: Iterable[bytes]) -> Colours:
    """A colour for each of these texts."""
    digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _bits(column: NDArray[Any]) -> Colours:
    """Numbers as they lie in memory; -0.0 is 0.0."""
    if column.dtype.kind == "f":
        return np.asarray(column + 0.0, dtype=np.float64).view(np.uint64)
    return column.astype(np.uint64)
