"""Which kind of window is opened next, and how large it is: learnt from what the last ones gave."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

LEAST, MOST = 5, 80
"""Free tasks in a window."""

FIRST = 20
"""Free tasks in the first window of each kind."""

_FLOOR = 0.1
"""Of the mean credit, which the least lucky kind is still chosen by."""

_FORGET = 0.9
"""Of the credit, what is left after each window of the kind."""


@dataclass(slots=True)
class Habit:
    """What is known of a kind.

    Attributes:
        size: free tasks.
        gain: relative gain of its windows, the older ones less. work: what they took.
    """

    size: float = FIRST
    gain: float = 0.0
    work: float = 0.0

    @property
    def rate(self) -> float:
        return self.gain / max(self.work, 1e-9)


@dataclass(slots=True)
class Adaptive:
    """Chooses by gain for work, in deterministic units of the solver's, so that runs repeat."""

    names: tuple[str, ...]
    habits: dict[str, Habit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.habits = {name: Habit() for name in self.names}

    def choose(self, rng: np.random.Generator) -> str:
        """A kind: one that was never tried, else at random by its rate."""
        for name, habit in self.habits.items():
            if habit.work == 0.0:
                return name
        rates = np.array([habit.rate for habit in self.habits.values()])
        mean = float(rates.mean())
        chances = rates + (_FLOOR * mean if mean > 0 else 1.0)
        return str(rng.choice(list(self.names), p=chances / chances.sum()))

    def size(self, name: str, rng: np.random.Generator) -> int:
        """Free tasks for its next window, a little at random."""
        return int(np.clip(round(self.habits[name].size * rng.uniform(0.8, 1.2)), LEAST, MOST))

    def learn(self, name: str, gain: float, work: float, limit: float, ended: bool) -> None:
        """Take note of a window: grow where it was searched to the end soon, shrink where not."""
        habit = self.habits[name]
        habit.gain = _FORGET * habit.gain + gain
        habit.work = _FORGET * habit.work + work
        if not ended:
            habit.size *= 0.85
        elif work < 0.3 * limit:
            habit.size *= 1.1
        habit.size = float(np.clip(habit.size, LEAST, MOST))
