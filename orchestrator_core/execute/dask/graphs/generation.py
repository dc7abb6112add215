"""Generations: what Dask's priority says of age, for runs whose tasks are submitted one by one.

Whatever graphs are submitted as a whole within a minute count as of one age to Dask, and tasks that
are submitted one by one only within 100 ms. An announced epoch is a graph that comes in pieces, so
that it has the age of those that were announced within the same minute, and takes turns with them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WINDOW = 60.0
"""Seconds: `fifo_timeout` of Dask's graphs."""


@dataclass(slots=True, eq=False)
class Generation:
    """The age of one epoch or several; `number` is None until the first of their tasks is there."""

    number: float | None = None

    def of(self, number: float) -> float:
        """The number of a task that arrives with this one."""
        if self.number is None:
            self.number = number
        return self.number


class Generations:
    """Epochs that begin within a minute after the first of them share a generation."""

    def __init__(self) -> None:
        self._shared, self._until = Generation(), -math.inf

    def join(self, now: float) -> Generation:
        """That of an epoch which begins now; `now` in seconds."""
        if now >= self._until:
            self._shared, self._until = Generation(), now + WINDOW
        return self._shared
