"""What types of numbers can hold."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.node import Node


def counts_to(dtype: Any, number: int) -> bool:
    """Does the type have every whole number from zero on to this one?"""
    if jnp.issubdtype(dtype, jnp.floating):
        return number <= 1 / _jax.epsilon(dtype)
    return bool(jnp.issubdtype(dtype, jnp.integer)) and number <= largest_integer(dtype)


def largest_integer(dtype: Any) -> int:
    info: Any = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(info.max)


def counting_type(size: int) -> Any:
    """In which the positions along an axis can be counted, whatever type they are to have."""
    wide = np.int64 if size > np.iinfo(np.int32).max else np.int32
    return jax.dtypes.canonicalize_dtype(wide)


def is_precise(dtype: Any) -> bool:
    """Is rounding to the type covered by its tolerance, however often it is done? Of fewer than 16
    bits each step is off by some percent: sums and products are then other ones in another order.
    """
    is_inexact = jnp.issubdtype(dtype, jnp.inexact)
    return bool(is_inexact and jnp.finfo(dtype).bits >= 16)  # type: ignore[no-untyped-call]


def in_bits(dtype: Any, bits: int, least: int = 16) -> Any:
    """The type with so many bits, 32 or 64, of real or complex numbers that have `least` or more,
    but fewer than that; others as they are."""
    if not jnp.issubdtype(dtype, jnp.inexact):
        return dtype
    has = jnp.finfo(dtype).bits  # type: ignore[no-untyped-call]
    if not least <= has < bits:
        return dtype
    is_complex = jnp.issubdtype(dtype, jnp.complexfloating)
    return np.dtype(f"complex{2 * bits}" if is_complex else f"float{bits}")


def keeps_all_bits(node: Node) -> bool:
    """Does a `reduce_precision` leave numbers as they are? `jax.checkpoint` writes such."""
    info: Any = jnp.finfo(node.output.dtype)  # type: ignore[no-untyped-call]
    exponent, mantissa = node.params["exponent_bits"], node.params["mantissa_bits"]
    return bool(exponent >= info.nexp and mantissa >= info.nmant)
