"""Answer: what the oracle says of an instance."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator_core.plan.schedule import Schedule
from tests.benchmarks.audit.near import exceeds, is_near


@dataclass(frozen=True, slots=True)
class Answer:
    """Attributes:
    values: the least of each criterion; none if there is no schedule; None if it gave up.
    schedule: one that has them.
    spread: the least of the first criterion may be larger by this part.
    """

    values: tuple[float, ...] | None
    schedule: Schedule | None = None
    spread: float = 0.0

    @property
    def least(self) -> float:
        """Of the first criterion; infinite if there is no schedule."""
        return self.values[0] if self.values else math.inf

    @property
    def most(self) -> float:
        """That the least of the first criterion can be."""
        return self.least * (1 + self.spread)

    def is_above(self, bound: float) -> bool:
        """Is a bound more than the optimum can be?"""
        return exceeds(bound, self.most)

    def is_below(self, value: float) -> bool:
        """Is a schedule worth less than the optimum can be?"""
        return exceeds(self.least, value)

    def are(self, values: tuple[float, ...]) -> bool:
        """Are these the least?"""
        known = self.values or ()
        if self.spread > 0:
            return not (self.is_above(values[0]) or self.is_below(values[0]))
        return len(values) == len(known) and all(map(is_near, values, known))
