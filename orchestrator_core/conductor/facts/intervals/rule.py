"""The registry of interval rules. The default of a primitive without one: nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval
from orchestrator_core.conductor.ir.node import Node

IntervalRule: TypeAlias = Callable[[Node, Sequence[Interval]], Interval]
"""From the intervals of the operands to that of the only result."""

INTERVALS: dict[str, IntervalRule] = {}
"""By the name of the primitive."""


def interval_of(node: Node, inputs: Sequence[Interval]) -> Interval:
    rule = INTERVALS.get(node.name)
    return UNKNOWN if rule is None else rule(node, inputs)
