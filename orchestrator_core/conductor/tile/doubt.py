"""Whether a sum that was taken otherwise than it is written may have another result than it.

Rewriting as in real numbers is right as long as all numbers are finite and of usual size.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import axis_roles
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.finish import Finish, array_of
from orchestrator_core.conductor.tile.plans import Plan

LEAST = 2.0**-30
"""The part of a result that what is lost below the smallest numbers may be."""

FAR = 2.0**30
"""Shifts of an exponent that cancel may be so large: the rounding of double precision is left."""

MOST = 0.75
"""Numbers may be as large as this power of the largest, so that products of them are finite."""

Extra = Mapping[Value, Any]


def is_safe(plan: Plan) -> bool:
    """Is it right whatever the numbers are? So is the sum of exponentials of what is never above
    zero: the largest is shifted to 1, infinities and NaN spread as they would."""
    terms = [term for product in plan.products for term in product.terms]
    factors = [each for product in plan.products for each in product.factors]
    if plan.node.name != "reduce_sum" or plan.exchange is not None or factors:
        return False
    return len(terms) == 1 and terms[0].is_low


def usual_rows(
    finish: Finish,
    made: Any,
    summed: Any,
    shift: Any,
    extra: Extra,
    axes: Sequence[int] | None = None,
) -> Any:
    """Of each row of the result: is all of it finite and not very large, can what was too small for
    the sum not count in it, and did no large shifts of an exponent cancel? With an axis of one
    element in the place of those that are no rows.

    Args:
        made: the result of `finish` with the other arguments.
        axes: of the result, that are no rows; None for all that were not cut into tiles. Of fewer,
            each part of a row is looked at alone.
    """
    # The result is read once, so that XLA need not keep it for this.
    out = finish.plan.boundary.out
    axes = tuple(k for k, each in enumerate(out) if not axis_roles(each)) if axes is None else axes
    row = _Row(finish, made.shape, tuple(axes))
    largest = jnp.max(_usual_size(made, summed.dtype), row.axes, keepdims=True)
    usual = [row.all_of(_are_usual(summed)), _have_small_shifts(finish, extra)]
    usual.append(_is_nothing_hidden(row, summed))
    usual.append(_is_nothing_lost(row, largest, summed, shift, extra))
    return jnp.isfinite(largest) & functools.reduce(jnp.logical_and, usual)


@dataclass(frozen=True)
class _Row:
    """Attributes:
    shape: of the result. axes: of it, that are no rows.
    """

    finish: Finish
    shape: tuple[int, ...]
    axes: tuple[int, ...]

    def all_of(self, are: Any) -> Any:
        """Of truth values about what was accumulated, all that a row is made from: of a sum that is
        read off another one, all."""
        if self.finish.plan.exchange is not None:
            return are.all()
        return are.reshape(self.shape).all(self.axes, keepdims=True)


def _is_nothing_hidden(row: _Row, summed: Any) -> Any:
    """A mask that was left out of a sum hides what is no number there; as written, 0 times NaN is
    NaN."""
    if not any(product.has_mask_outside for product in row.finish.plan.products):
        return np.bool_(True)
    return row.all_of(jnp.isfinite(summed))


def _are_usual(array: Any) -> Any:
    """Is it not very large? Infinities and NaN make rows that are not finite, and no others."""
    return ~((jnp.abs(array) > _limit(array.dtype)) & jnp.isfinite(array))


def _usual_size(array: Any, dtype: Any) -> Any:
    """Of each element; infinite where it is very large, or no number. What its own type cannot hold
    is no number even where it is held in a wider one, as in kernels."""
    size = jnp.abs(array).astype(dtype)
    return jnp.where(size <= min(_limit(dtype), _most(array.dtype)), size, np.inf)


def _most(dtype: Any) -> float:
    info: Any = jnp.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(info.max)


def _limit(dtype: Any) -> float:
    return float(_most(dtype) ** MOST)


def _is_nothing_lost(row: _Row, largest: Any, summed: Any, shift: Any, extra: Extra) -> Any:
    """Of terms below the smallest number the sum keeps nothing. Large factors must not make of them
    what counts beside the largest result of the same row."""
    finish, shape = row.finish, row.shape
    info: Any = jnp.finfo(summed.dtype)  # type: ignore[no-untyped-call]
    least = np.asarray(finish.length[finish.plan.role] * float(info.tiny), summed.dtype)
    lost = jnp.full_like(summed, least)
    noise = jnp.abs(finish.scaled(lost, shift, extra, jnp.abs))
    noise = jnp.broadcast_to(noise.reshape(shape), shape)
    is_lost = (noise > 2 * least) & (noise > LEAST * largest)
    return ~is_lost.any(row.axes, keepdims=True)


def _have_small_shifts(finish: Finish, extra: Extra) -> Any:
    """Of one, which may be the largest exponent, nothing is lost."""
    found = finish.plan.exponential
    shifts = (found[1].shifts or ()) if found is not None else ()
    if len(shifts) < 2:
        return np.bool_(True)
    known = finish.known(extra)
    parts = [jnp.abs(array_of(known, each.wanted)).max() <= FAR for each in shifts]
    return functools.reduce(jnp.logical_and, parts)
