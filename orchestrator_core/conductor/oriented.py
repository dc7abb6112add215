"""Matrix products as a library likes to take them.

XLA's libraries on a CPU multiply rows of the left operand with columns of the right one as they lie
in memory. A left operand that lies the other way round is turned piece by piece, which takes three
times as long as the product with a thin right one (seen in 0.10.2, 0.11.2 and 0.12.0). The other
operand, turned at once, does the same: ``A^T B = (B^T A)^T``. Only the order of sums may change.

Sums in 32 bits of products in 16 are not known to them at all if the left operand lies the other
way round: XLA compiles such a product, and running it fails (seen in 0.10.2). So it is turned.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.lying import Numbers, free_axes, is_better_turned


def product(left: Any, right: Any, numbers: Numbers, **how: Any) -> Any:
    """``lax.dot_general``, written so that this device can do it, and does it fast."""
    if this_device().platform == "cpu":
        if is_better_turned(left, right, numbers):
            return _turned(left, right, numbers, **how)
        if _is_widening(left, how.get("preferred_element_type")):
            left, numbers = _in_rows(left, numbers)
    return lax.dot_general(left, right, numbers, **how)


def _is_widening(left: Any, kind: Any) -> bool:
    """Are products of floats summed in more bits than their factors have?"""
    is_float = jnp.issubdtype(left.dtype, jnp.floating)
    return is_float and kind is not None and np.dtype(kind).itemsize > left.dtype.itemsize


def _in_rows(left: Any, numbers: Numbers) -> tuple[Any, Numbers]:
    """The left operand with its batch axes first and its contracted ones last, and the numbers."""
    (inner, right_inner), (batch, right_batch) = numbers
    order = (*batch, *free_axes(left.ndim, numbers, 0), *inner)
    if order == tuple(range(left.ndim)):
        return left, numbers
    summed = tuple(range(left.ndim - len(inner), left.ndim))
    first = tuple(range(len(batch)))
    turned = _kept(lax.transpose(left, order))
    return turned, ((summed, right_inner), (first, right_batch))


def _turned(left: Any, right: Any, numbers: Numbers, **how: Any) -> Any:
    """The right operand, turned if it must be, by the left one; and what that makes, turned. The
    barriers keep XLA from undoing it."""
    (inner, right_inner), (batch, right_batch) = numbers
    free = free_axes(right.ndim, numbers, 1)
    order = (*right_batch, *free, *right_inner)
    if order != tuple(range(right.ndim)):
        right = _kept(lax.transpose(right, order))
    many, count = len(batch), len(free)
    first = tuple(range(many))
    summed = tuple(range(many + count, right.ndim))
    precision = how.pop("precision", None)
    other = precision[::-1] if isinstance(precision, tuple) else precision
    how = {**how, "precision": other}
    made = lax.dot_general(right, left, ((summed, tuple(inner)), (first, tuple(batch))), **how)
    back = (*first, *range(many + count, made.ndim), *range(many, many + count))
    return lax.transpose(_kept(made), back)


def _kept(array: Any) -> Any:
    barrier: Any = lax.optimization_barrier
    return barrier(array)
