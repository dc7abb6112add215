"""How arrays are held inside a kernel; see `squeezed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.refused import Refused


def power_of_two(size: int) -> int:
    """The next one, itself included."""
    return 1 << (size - 1).bit_length()


def squeezed_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """As it is held: without axes of one element, and each as long as a power of two."""
    return tuple(power_of_two(size) for size in shape if size != 1)


def is_narrow(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.floating)) and np.dtype(dtype).itemsize < 4


def held_type(dtype: Any) -> np.dtype[Any]:
    """Of a type of 16 bits that of 32."""
    return np.dtype(np.float32) if is_narrow(dtype) else np.dtype(dtype)


def wide(array: Any) -> Any:
    """Of numbers of 16 bits those of 32."""
    return array.astype(held_type(array.dtype))


def without_end(array: Any, axis: int, size: int, neutral: float) -> Any:
    """With what changes nothing behind the end of an axis."""
    if array.shape[axis] == size:
        return array
    if not jnp.issubdtype(array.dtype, jnp.floating):
        raise Refused("whole numbers summed along an axis whose size is no power of two")
    inside = lax.broadcasted_iota(np.int32, array.shape, axis) < size
    return jnp.where(inside, array, jnp.full(array.shape, neutral, array.dtype))
