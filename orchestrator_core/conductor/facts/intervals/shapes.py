"""Intervals of views, casts, and of the largest and smallest along an axis."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval, rounded
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS
from orchestrator_core.conductor.facts.number_types import is_precise, keeps_all_bits
from orchestrator_core.conductor.ir.node import Node

_NAMES = """
broadcast_in_dim copy copy_p cummax cummin expand_dims name reduce_max reduce_min reshape rev slice
squeeze stop_gradient transpose
"""

SAME = frozenset(_NAMES.split())
"""Operations that make no new element."""


def _same(node: Node, inputs: Sequence[Interval]) -> Interval:
    return inputs[0]


def _of_truths(node: Node, inputs: Sequence[Interval]) -> Interval:
    """One of them; of whole numbers, bits of several may be joined."""
    return inputs[0] if node.output.dtype == np.bool_ else UNKNOWN


def join(node: Node, inputs: Sequence[Interval]) -> Interval:
    """Of elements that come from several values."""
    made = inputs[0]
    for each in inputs[1:]:
        low, high = xp.minimum(made.low, each.low), xp.maximum(made.high, each.high)
        made = Interval(low, high, made.sound & each.sound)
    return made


def _convert(node: Node, inputs: Sequence[Interval]) -> Interval:
    (a,) = inputs
    dtype = node.output.dtype
    if dtype == np.bool_:
        apart = (a.low > 0) | (a.high < 0)
        some = (a.low != 0) | (a.high != 0)
        return Interval(xp.number(apart), xp.number(some), a.sound)
    if jnp.issubdtype(dtype, jnp.integer):
        info = np.iinfo(dtype)
        fits = (a.low >= info.min / 2) & (a.high <= info.max / 2)
        return Interval(xp.floor(a.low), xp.ceil(a.high), a.sound & fits)
    if node.inputs[0].dtype == np.bool_:
        return a
    if not is_precise(dtype):  # and what is too large may be NaN instead of infinite
        return UNKNOWN
    made = rounded(a, dtype)
    zero = a.is_zero
    low, high = xp.where(zero, 0.0, made.low), xp.where(zero, 0.0, made.high)
    return Interval(low, high, made.sound)


def _reduce_precision(node: Node, inputs: Sequence[Interval]) -> Interval:
    return inputs[0] if keeps_all_bits(node) else UNKNOWN


INTERVALS.update(dict.fromkeys(SAME, _same))
INTERVALS["reduce_and"] = INTERVALS["reduce_or"] = _of_truths
INTERVALS["concatenate"] = INTERVALS["pad"] = join
INTERVALS["convert_element_type"] = _convert
INTERVALS["reduce_precision"] = _reduce_precision
