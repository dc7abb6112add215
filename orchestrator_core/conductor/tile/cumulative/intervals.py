"""Intervals of running sums and the like, of a tile that has its blocks as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp

from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval, rounded
from orchestrator_core.conductor.facts.intervals.monotone import UNITS
from orchestrator_core.conductor.facts.intervals.rule import IntervalRule
from orchestrator_core.conductor.ir.node import Node

ROUNDING = 1e-5
"""Of all that a block adds up: what its sum may be off by."""


def _sum(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, borders = inputs
    block, least = _block(node), 0.0 if _is_exclusive(node) else 1.0
    if not jnp.issubdtype(node.output.dtype, jnp.floating):
        return UNKNOWN
    off = ROUNDING * block * a.largest
    low = borders.low + xp.minimum(least * a.low, block * a.low) - off
    high = borders.high + xp.maximum(least * a.high, block * a.high) + off
    return rounded(Interval(low, high, a.is_finite & borders.is_finite), node.output.dtype)


def _product(node: Node, inputs: Sequence[Interval]) -> Interval:
    """Of what is never larger than one."""
    a, borders = inputs
    most = borders.largest
    is_positive = (a.low >= 0) & (borders.low >= 0)
    low = xp.where(is_positive, 0.0, -most)
    sound = a.sound & (a.largest <= 1) & borders.is_finite
    return rounded(Interval(low, most, sound), node.output.dtype, UNITS)


def _max(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, borders = inputs
    low = xp.minimum(a.low, borders.low) if _is_exclusive(node) else a.low
    return Interval(low, xp.maximum(a.high, borders.high), a.sound & borders.sound)


def _min(node: Node, inputs: Sequence[Interval]) -> Interval:
    a, borders = inputs
    high = xp.maximum(a.high, borders.high) if _is_exclusive(node) else a.high
    return Interval(xp.minimum(a.low, borders.low), high, a.sound & borders.sound)


def _logsumexp(node: Node, inputs: Sequence[Interval]) -> Interval:
    made = _max(node, inputs)
    high = made.high + math.log(_block(node) + 1)
    return rounded(Interval(made.low, high, made.sound), node.output.dtype, UNITS)


_RULES: dict[str, IntervalRule] = {
    "cumsum": _sum,
    "cumprod": _product,
    "cummax": _max,
    "cummin": _min,
    "cumlogsumexp": _logsumexp,
}


def interval_from_blocks(node: Node, inputs: Sequence[Interval]) -> Interval:
    """Args:
    inputs: of what a tile has, and of what it comes to at the borders of all blocks.
    """
    return _RULES[node.params["running"].name](node, inputs)


def _block(node: Node) -> int:
    return int(node.params["running"].block)


def _is_exclusive(node: Node) -> bool:
    return bool(node.params["running"].is_exclusive)
