"""Matrix products as a library likes to take them.

XLA's libraries on a CPU multiply rows of the left operand with columns of the right one as they lie
in memory. A left operand that lies the other way round is turned piece by piece, which takes three
times as long as the product with a thin right one (seen in 0.10.2, 0.11.2 and 0.12.0). The other
operand, turned at once, does the same: ``A^T B = (B^T A)^T``. Only the order of sums may change.
"""

from __future__ import annotations

from typing import Any

from jax import lax

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.lying import Numbers, free_axes, is_better_turned


def product(left: Any, right: Any, numbers: Numbers, **how: Any) -> Any:
    """``lax.dot_general``, written the other way round where that is faster on this device."""
    if this_device().platform == "cpu" and is_better_turned(left, right, numbers):
        return _turned(left, right, numbers, **how)
    return lax.dot_general(left, right, numbers, **how)


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
