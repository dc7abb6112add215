"""Clock: how much of a search's budget is spent (stage 3, repair)."""

from __future__ import annotations

import time

from orchestrator_core.plan.budget import Budget

ROUND = 40_000
"""Tasks that one compiled round of the search places, about 5 to 10 ms of work."""


class Clock:
    """How much of a budget is spent: moves where it counts iterations, else wall seconds."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.moves, self._stopped = budget, 0, False
        self._began = time.perf_counter()

    @property
    def done(self) -> float:
        """From 0 to 1; some of the seconds are kept for taking moves back."""
        if self._stopped:
            return 1.0
        if self.budget.iterations is not None:
            return self.moves / max(1, self.budget.iterations)
        spent = time.perf_counter() - self._began
        reserve = min(0.03, 0.25 * self.budget.seconds)
        return spent / max(1e-9, self.budget.seconds - reserve)

    @property
    def over(self) -> bool:
        """Is all of the budget spent, the kept part too?"""
        spent = time.perf_counter() - self._began
        return self.budget.iterations is None and spent > self.budget.seconds

    @property
    def seed(self) -> int:
        return (self.budget.seed * 1_000_003 + self.moves) % 2**32

    def tasks(self, each: int) -> int:
        """Tasks that the next round may place, of `each` at most for one move."""
        if self.budget.iterations is None:
            return ROUND
        return each * max(1, self.budget.iterations - self.moves)

    def count(self, moves: int) -> None:
        self.moves += max(1, moves)

    def stop(self) -> None:
        self._stopped = True
