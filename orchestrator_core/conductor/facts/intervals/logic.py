"""Intervals of truth values. Those of bits of integers are not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from orchestrator_core.conductor.facts.intervals.arrays import xp
from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.rule import INTERVALS, IntervalRule
from orchestrator_core.conductor.ir.node import Node


def _of_truths(rule: Callable[..., Interval]) -> IntervalRule:
    def guarded(node: Node, inputs: Sequence[Interval]) -> Interval:
        return rule(*inputs) if node.output.dtype == np.bool_ else UNKNOWN

    return guarded


def _and(a: Interval, b: Interval) -> Interval:
    """False where either is known to be false, whatever the other is."""
    never = (a.sound & (a.high == 0)) | (b.sound & (b.high == 0))
    low = xp.where(never, 0.0, xp.minimum(a.low, b.low))
    high = xp.where(never, 0.0, xp.minimum(a.high, b.high))
    return Interval(low, high, (a.sound & b.sound) | never)


def _or(a: Interval, b: Interval) -> Interval:
    """True where either is known to be true, whatever the other is."""
    always = (a.sound & (a.low == 1)) | (b.sound & (b.low == 1))
    low = xp.where(always, 1.0, xp.maximum(a.low, b.low))
    high = xp.where(always, 1.0, xp.maximum(a.high, b.high))
    return Interval(low, high, (a.sound & b.sound) | always)


def _not(a: Interval) -> Interval:
    return Interval(1 - a.high, 1 - a.low, a.sound)


INTERVALS.update({"and": _of_truths(_and), "or": _of_truths(_or), "not": _of_truths(_not)})
