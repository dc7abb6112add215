"""JAX arrays as NumPy arrays of plain integers, and back, bit for bit.

JAX pickles an array by copying it into the pickle, and NumPy does so with the narrow types that it
does not know (bfloat16, float8, int4). As integers of the same width an array's memory travels as
it is, beside the pickle. Random keys travel as the integers that they are made of.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from orchestrator_core.conductor import _jax

KEY = "key:"
"""What stands before the name of a key's implementation."""


def classes() -> tuple[type, ...]:
    """The classes of arrays and of random keys; no device is asked for."""
    return _jax.array_classes()


def pack(array: Any) -> tuple[str, np.ndarray[Any, Any]] | None:
    """Name of the type, and the memory as integers of the same width, which is not copied where
    NumPy may look at it; None for what is better left to JAX: arrays that are partly in other
    processes, and those of the type of Python numbers, which are single ones."""
    if _jax.is_extended(array.dtype):
        made_by: Any = jax.random.key_impl(array)
        return KEY + str(made_by), np.asarray(jax.random.key_data(array))
    if not array.is_fully_addressable or array.aval.weak_type:
        return None
    memory = np.asarray(array)
    return memory.dtype.name, memory.view(_integers(memory.dtype))


def unpack(name: str, memory: np.ndarray[Any, Any]) -> Any:
    """The array that was packed, on the default device; of the same type in 64 bits, too, whatever
    this process makes of them otherwise."""
    if name.startswith(KEY):
        return jax.random.wrap_key_data(jnp.asarray(memory), impl=name.removeprefix(KEY))
    with jax.enable_x64(True):
        return jax.device_put(memory.view(type_of(name)))


def type_of(name: str) -> np.dtype[Any]:
    """The type of that name, narrow ones included."""
    return np.dtype(getattr(ml_dtypes, name, name))


def _integers(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of the width of a type that NumPy does not know; its own are as good as integers."""
    return np.dtype(
        dtype if dtype.kind in "biufc" and dtype.isbuiltin == 1 else f"u{dtype.itemsize}"
    )
