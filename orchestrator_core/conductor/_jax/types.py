"""What values are: shapes, element types, and whether they can have a derivative."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, TypeAlias

import jax

Aval: TypeAlias = Any
"""Shape, type and weakness of a value: ``jax.core.ShapedArray``, or of keys and tokens."""

ShapedArray = jax.core.ShapedArray


def aval_of(x: Any) -> Aval:
    """Of an array, a tracer, or a Python number (which is weakly typed)."""
    return jax.typeof(x)


def is_extended(dtype: Any) -> bool:
    """Is this a type that NumPy does not know, as that of random keys?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(dtype, jax.dtypes.extended))


def is_smooth(aval: Aval) -> bool:
    """Can values of this type have a derivative?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(aval.dtype, jax.numpy.inexact))


def is_inexact(dtype: Any) -> bool:
    """Is this a type of real or complex numbers, narrow ones that NumPy does not know included?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(dtype, jax.numpy.inexact))


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of a type."""
    information: Any = jax.numpy.finfo
    return float(information(dtype).eps)


def varies(aval: Aval) -> bool:
    """Is it one of several parts, which a `shard_map` says to differ from device to device?"""
    manual: Any = getattr(aval, "manual_axis_type", None)
    return bool(getattr(manual, "varying", None) or getattr(aval, "vma", None))


def is_on_mesh(aval: Aval) -> bool:
    """Does its type say how it lies on several devices, as those of explicit meshes do?"""
    from jax.sharding import AxisType

    mesh: Any = getattr(getattr(aval, "sharding", None), "mesh", None)
    if mesh is None or mesh.empty or mesh.size == 1:
        return False
    return AxisType.Explicit in mesh.axis_types


def array_classes() -> tuple[type, ...]:
    """The classes of arrays and of random keys; they have no promised names."""
    from jax._src.array import ArrayImpl

    homes = ("jax._src.random.prng", "jax._src.prng")  # from 0.10 on, and before
    for home in homes:
        with contextlib.suppress(ImportError):
            return ArrayImpl, importlib.import_module(home).PRNGKeyArray
    return (ArrayImpl,)
