"""Intervals of functions of one variable that never fall: those of the two ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import ROUNDING, Interval, rounded
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS, IntervalRule
from orchestrator_core.conductor.ir.node import Node

UNITS = 128.0
"""Units in the last place by which an elementary function may be off in 32 bits or more. Numbers of
16 bits are computed in 32 and rounded."""

RISING: dict[str, Callable[[Any], Any]] = {
    "exp2": xp.exp2,
    "expm1": xp.expm1,
    "tanh": xp.tanh,
    "logistic": xp.logistic,
    "erf": xp.erf,
    "atan": xp.arctan,
    "cbrt": xp.cbrt,
    "sign": xp.sign,
    "floor": xp.floor,
    "ceil": xp.ceil,
}

FROM_ABOVE: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "log": (0.0, xp.log),
    "log1p": (-1.0, xp.log1p),
    "sqrt": (0.0, xp.sqrt),
}
"""Known where all elements are above a number."""


def gone_below(dtype: Any) -> float:
    """Below this, the exponential is exactly zero in this type."""
    return -750.0 if dtype == np.float64 else -110.0


def _units(dtype: Any) -> float:
    return UNITS if np.dtype(dtype).itemsize >= 4 else ROUNDING


def _exp(node: Node, inputs: Sequence[Interval]) -> Interval:
    (a,) = inputs
    dtype = node.output.dtype
    made = rounded(Interval(xp.exp(a.low), xp.exp(a.high), a.sound), dtype, _units(dtype))
    gone = gone_below(dtype)
    low = xp.maximum(made.low, 0.0)
    return Interval(low, xp.where(a.high < gone, 0.0, made.high), made.sound)


def _rising(function: Callable[[Any], Any]) -> IntervalRule:
    def rule(node: Node, inputs: Sequence[Interval]) -> Interval:
        (a,) = inputs
        ends = Interval(function(a.low), function(a.high), a.sound)
        return rounded(ends, node.output.dtype, _units(node.output.dtype))

    return rule


def _rising_above(least: float, function: Callable[[Any], Any]) -> IntervalRule:
    rule = _rising(function)

    def guarded(node: Node, inputs: Sequence[Interval]) -> Interval:
        (a,) = inputs
        return rule(node, [Interval(a.low, a.high, a.sound & (a.low > least))])

    return guarded


INTERVALS["exp"] = _exp
INTERVALS.update({name: _rising(function) for name, function in RISING.items()})
INTERVALS.update({name: _rising_above(*each) for name, each in FROM_ABOVE.items()})
