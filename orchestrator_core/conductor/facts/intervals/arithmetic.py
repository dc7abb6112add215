"""Intervals of sums, products and quotients.

Where infinities may cancel, or meet a zero, some element may be NaN: then an end is, or the ends
are both infinities, and nothing is known (`rounded`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval, rounded
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS, IntervalRule
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node

INVERTIBLE = 2.0**125
"""What is smaller has an inverse that is no subnormal number, which may be taken for zero."""


def _finished(node: Node, made: Interval, units: float = 4.0) -> Interval:
    """Rounded as the type of the result is; integers that may wrap around are not known."""
    dtype = node.output.dtype
    if jnp.issubdtype(dtype, jnp.integer):
        info = np.iinfo(dtype)
        fits = (made.low > info.min / 2) & (made.high < info.max / 2)
        return Interval(made.low, made.high, made.sound & fits)
    return rounded(made, dtype, units)


def _plus(a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high, a.sound & b.sound)


def _minus(a: Interval) -> Interval:
    return Interval(-a.high, -a.low, a.sound)


def _add(node: Node, inputs: Sequence[Interval]) -> Interval:
    return _finished(node, _plus(*inputs))


def _add_cotangents(node: Node, inputs: Sequence[Interval]) -> Interval:
    """Those of what was masked are zero, and so is their sum."""
    a, b = inputs
    return _or_zero(_add(node, inputs), a.is_zero & b.is_zero)


def _sub(node: Node, inputs: Sequence[Interval]) -> Interval:
    return _finished(node, _plus(inputs[0], _minus(inputs[1])))


def _neg(node: Node, inputs: Sequence[Interval]) -> Interval:
    return _or_zero(_finished(node, _minus(inputs[0])), inputs[0].is_zero)


def _abs(node: Node, inputs: Sequence[Interval]) -> Interval:
    (a,) = inputs
    spans = (a.low <= 0) & (a.high >= 0)
    low = xp.where(spans, 0.0, xp.minimum(xp.abs(a.low), xp.abs(a.high)))
    made = Interval(low, a.largest, a.sound)
    # The smallest integer of a type has no opposite, and stays what it is.
    return _finished(node, made) if jnp.issubdtype(node.output.dtype, jnp.integer) else made


def _between(ends: Sequence[Any], sound: Any) -> Interval:
    return Interval(functools.reduce(xp.minimum, ends), functools.reduce(xp.maximum, ends), sound)


def _mul(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    ends = [x * y for x in _ends(a) for y in _ends(b)]
    made = _finished(node, _between(ends, a.sound & b.sound))
    return _or_zero(made, a.is_zero | b.is_zero)


def _ends(a: Interval) -> list[Any]:
    """One or two."""
    return [a.low] if a.low is a.high else [a.low, a.high]


def _or_zero(made: Interval, is_zero: Any) -> Interval:
    """Products with an exact zero are exact, if they are any number."""
    return Interval(xp.where(is_zero, 0.0, made.low), xp.where(is_zero, 0.0, made.high), made.sound)


def _div(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, b = inputs
    apart = (b.low > 0) | (b.high < 0)
    sound = a.sound & b.is_finite & apart
    if jnp.issubdtype(node.output.dtype, jnp.integer):
        ends = [xp.trunc(x / y) for x in _ends(a) for y in _ends(b)]
        return _between(ends, sound & (a.largest < 2.0**22))
    # Quotients are loops of their own, which are to be compiled; of what is larger than this the
    # inverse may be lost.
    ends = [x * y for y in [1 / y for y in _ends(b)] for x in _ends(a)]
    is_usual = b.largest < INVERTIBLE
    return _or_zero(_finished(node, _between(ends, sound & is_usual), 6.0), a.is_zero)


def _rem(node: Node, inputs: Sequence[Interval]) -> Interval:
    """Of what is not negative, by what is positive."""
    a, b = inputs
    sound = a.sound & b.sound & (a.low >= 0) & (b.low > 0) & xp.isfinite(a.high)
    return Interval(xp.zeros_like(a.low), xp.minimum(a.high, b.high), sound)


def _power(node: Node, inputs: Sequence[Interval]) -> Interval:
    (a,) = inputs
    exponent = int(node.params.get("y", 2))
    if exponent > 0:
        return _whole_power(node, a, exponent)
    return _inverse(node, _whole_power(node, a, -exponent)) if exponent < 0 else UNKNOWN


def _whole_power(node: Node, a: Interval, exponent: int) -> Interval:
    if exponent % 2 == 0:
        a = _abs(node, [a])
    made = _finished(node, Interval(a.low**exponent, a.high**exponent, a.sound), 4.0 * exponent)
    if exponent % 2 == 0:
        made = Interval(xp.maximum(made.low, 0.0), made.high, made.sound)
    return _or_zero(made, a.is_zero)


def _inverse(node: Node, a: Interval) -> Interval:
    apart = (a.low > 0) | (a.high < 0)
    return _finished(node, Interval(1 / a.high, 1 / a.low, a.is_finite & apart))


def _dot(node: Node, inputs: Sequence[Interval]) -> Interval:
    """No more than the number of products times the largest, with room for every order of sums."""
    a, b = inputs
    shape = node.inputs[0].shape
    count = math.prod(shape[k] for k in Sides.of(node).contracted[0])
    most = a.largest * b.largest * (count * (1.02 + 4e-7 * count))
    made = _finished(node, Interval(-most, most, a.sound & b.sound))
    return _or_zero(made, a.is_zero | b.is_zero)


def _sum(node: Node, inputs: Sequence[Interval]) -> Interval:
    (a,) = inputs
    return sum_of(node, node.inputs[0].shape, a)


def sum_of(node: Node, shape: Sequence[int], a: Interval) -> Interval:
    """Of elements along the axes of a node: no more than their number times the largest. Where one
    part may come to infinity and another to minus infinity, nothing is known of both together."""
    count = math.prod(shape[k] for k in node.params["axes"])
    most = 1.0 + 4e-7 * count
    low = xp.minimum(a.low * (count * most), a.low * (count / most))
    high = xp.maximum(a.high * (count * most), a.high * (count / most))
    return _or_zero(_finished(node, Interval(low, high, a.sound)), a.is_zero)


_RULES: dict[str, IntervalRule] = {
    "add": _add,
    "add_any": _add_cotangents,
    "sub": _sub,
    "neg": _neg,
    "abs": _abs,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "integer_pow": _power,
    "square": _power,
    "dot_general": _dot,
    "reduce_sum": _sum,
}
INTERVALS.update(_RULES)
