"""Judge: which of two schedules is better, and how far one is from a bound, under an objective."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Schedule

EQUAL = 1e-9
"""Relative difference below which two values of one criterion count as equal, so that the next
criterion decides."""

Value = tuple[float, ...]
"""One number for each criterion of an objective."""


def keeps(value: float, limit: float) -> bool:
    """Is the value of a criterion within a limit? One that is met exactly may be exceeded by the
    rounding of sums."""
    return value <= limit + EQUAL * abs(limit)


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares schedules of an instance by an objective; a plain makespan to the last bit."""

    instance: Instance
    objective: Objective = MAKESPAN

    def value(self, schedule: Schedule) -> Value:
        """What the schedule is worth; see `values.py` for the units."""
        return evaluate(self.instance, schedule, self.objective)

    def better(self, one: Value, other: Value | None) -> bool:
        """Is the one value better than the other? Any is better than None."""
        if other is None:
            return True
        for a, b in zip(one[:-1], other[:-1], strict=True):
            if abs(a - b) > EQUAL * max(abs(a), abs(b)):
                return a < b
        return one[-1] < other[-1]

    def best(self, known: Value | None, schedule: Schedule | None) -> Value | None:
        """The better one of a value and that of a schedule, as far as there are any."""
        if schedule is None:
            return known
        value = self.value(schedule)
        return value if self.better(value, known) else known

    def reaches(self, value: Value, least: Value) -> bool:
        """Is the value no worse than one that nothing beats, up to rounding?"""
        for a, b in zip(value, least, strict=True):
            if abs(a - b) > EQUAL * max(abs(a), abs(b)):
                return a < b
        return True

    def gap(self, value: Value, lower_bound: float) -> float:
        """How far the first criterion is above its lower bound, as a part of the bound; infinity
        where the bound alone is 0."""
        above = value[0] - lower_bound
        if above <= EQUAL * abs(value[0]):
            return 0.0
        return above / lower_bound if lower_bound > 0 else math.inf

    def optimal(self, value: Value, lower_bound: float, gap: float = 0.0) -> bool:
        """Is nothing left to gain, to within `gap`? With further criteria a bound on the first one
        does not tell, unless they are at the least that there can be, which is 0."""
        return self.gap(value, lower_bound) <= gap + EQUAL and all(v <= 0 for v in value[1:])
