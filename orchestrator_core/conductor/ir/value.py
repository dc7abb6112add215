"""Values: what flows between the nodes of a graph."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor._jax import Aval


class Typed:
    """What is known of whatever has an `aval`."""

    __slots__ = ()
    aval: Aval

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(getattr(self.aval, "shape", ()))

    @property
    def dtype(self) -> Any:
        """The element type, which for random keys is none of NumPy's; None for a token."""
        return getattr(self.aval, "dtype", None)

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes on a device; 0 for what has no size, such as a token."""
        return self.size * itemsize(self.dtype)


@dataclass(frozen=True, eq=False, slots=True)
class Value(Typed):
    """An input of a graph, a constant, or what a node computes. Known by its identity."""

    aval: Aval

    def __repr__(self) -> str:
        return f"<{self.aval.str_short() if hasattr(self.aval, 'str_short') else self.aval}>"


@dataclass(frozen=True, eq=False, slots=True)
class Literal(Typed):
    """A number that is written in the program."""

    value: Any
    aval: Aval

    @property
    def bits(self) -> Hashable:
        """Equal for literals that are the same in every bit: of zeros the sign counts."""
        array = np.asarray(self.value)
        return array.dtype.str, array.tobytes(), self.aval


Atom: TypeAlias = Value | Literal


def as_printed(number: Any) -> Any:
    """A number as one of Python's, which prints quicker, and in full."""
    return number.item() if getattr(number, "ndim", None) == 0 else number


def itemsize(dtype: Any) -> int:
    """Bytes of an element, of a random key those of its words."""
    if dtype is None:
        return 0
    if _jax.is_extended(dtype):
        return int(np.dtype(np.uint32).itemsize * math.prod(dtype._impl.key_shape))
    return int(np.dtype(dtype).itemsize)
