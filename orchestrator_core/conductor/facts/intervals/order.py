"""Intervals of the greater and the smaller, of comparisons, and of choices between values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS, IntervalRule
from orchestrator_core.conductor.ir.node import Node


def _max(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    return Interval(xp.maximum(a.low, b.low), xp.maximum(a.high, b.high), a.sound & b.sound)


def _min(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    return Interval(xp.minimum(a.low, b.low), xp.minimum(a.high, b.high), a.sound & b.sound)


def _clamp(node: Node, inputs: Sequence[Interval]) -> Interval:
    low, given, high = inputs
    return _min(node, [_max(node, [low, given]), high])


def _flags(always: Any, sometimes: Any, sound: Any) -> Interval:
    return Interval(xp.number(always), xp.number(sometimes), sound)


def _ge(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    return _flags(a.low >= b.high, a.high >= b.low, a.sound & b.sound)


def _gt(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    return _flags(a.low > b.high, a.high > b.low, a.sound & b.sound)


def _le(node: Node, inputs: Sequence[Interval]) -> Interval:
    return _ge(node, inputs[::-1])


def _lt(node: Node, inputs: Sequence[Interval]) -> Interval:
    return _gt(node, inputs[::-1])


def _eq(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
    return _flags(same, (a.low <= b.high) & (b.low <= a.high), a.sound & b.sound)


def _ne(node: Node, inputs: Sequence[Interval]) -> Interval:
    is_equal = _eq(node, inputs)
    return Interval(1 - is_equal.high, 1 - is_equal.low, is_equal.sound)


def _select(node: Node, inputs: Sequence[Interval]) -> Interval:
    """What is not chosen anywhere need not be known."""
    if len(inputs) != 3:
        return UNKNOWN
    which, first, second = inputs
    only_first = which.sound & (which.high == 0)
    only_second = which.sound & (which.low == 1)

    def chosen(a: Any, b: Any, both: Any) -> Any:
        return xp.where(only_first, a, xp.where(only_second, b, both))

    return Interval(
        chosen(first.low, second.low, xp.minimum(first.low, second.low)),
        chosen(first.high, second.high, xp.maximum(first.high, second.high)),
        chosen(first.sound, second.sound, first.sound & second.sound),
    )


_RULES: dict[str, IntervalRule] = {
    "max": _max,
    "min": _min,
    "clamp": _clamp,
    "ge": _ge,
    "gt": _gt,
    "le": _le,
    "lt": _lt,
    "eq": _eq,
    "ne": _ne,
    "select_n": _select,
}
INTERVALS.update(_RULES)
