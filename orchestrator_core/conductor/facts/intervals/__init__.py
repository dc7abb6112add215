"""Between which numbers all elements of a value lie: a rule for each primitive."""

from orchestrator_core.conductor.facts.intervals import (
    arithmetic,
    logic,
    monotone,
    order,
    shapes,
)
from orchestrator_core.conductor.facts.intervals.interval import UNKNOWN, Interval
from orchestrator_core.conductor.facts.intervals.rule import interval_of

__all__ = [
    "UNKNOWN",
    "Interval",
    "arithmetic",
    "interval_of",
    "logic",
    "monotone",
    "order",
    "shapes",
]
