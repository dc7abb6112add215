"""The variables of the time-indexed program: steps, ways and jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.engine.unit import common_unit


@dataclass(slots=True)
class Steps:
    """0/1 variables that never fall, for the ticks 0 .. T; 0 before, the last one after."""

    values: list[Any]

    def at(self, t: int) -> Any:
        return 0 if t < 0 else self.values[min(t, len(self.values) - 1)]

    @property
    def ever(self) -> Any:
        return self.values[-1]


@dataclass(frozen=True, slots=True)
class Way:
    """A job run in a mode on a worker: `done` and `length` in ticks, for each piece."""

    mode: int
    worker: int
    length: tuple[int, ...]
    done: tuple[Steps, ...]

    def running(self, t: int) -> Any:
        """Does a piece run in [t, t + 1)?"""
        return sum(
            done.at(t + length) - done.at(t)
            for done, length in zip(self.done, self.length, strict=True)
            if length > 0
        )


@dataclass(slots=True)
class Job:
    """Instance `number` of `task`; `uses` are the jobs that need its output, with their bytes."""

    task: int
    number: int
    ways: list[Way] = field(default_factory=list)
    uses: list[tuple[int, float]] = field(default_factory=list)

    def completed(self, worker: int | None, t: int) -> Any:
        """By t, on a worker or on any."""
        return sum(w.done[-1].at(t) for w in self.ways if worker in (None, w.worker))

    def started(self, worker: int, t: int) -> Any:
        return sum(w.done[0].at(t + w.length[0]) for w in self.ways if w.worker == worker)


def whole_amounts(needs: list[float], limit: float, what: str) -> tuple[list[int], int]:
    """Amounts as integers of a common unit."""
    unit = common_unit(sorted({need for need in needs if need > 0}))
    if unit is None:
        raise UnsupportedInstance(f"the amounts of {what} have no common unit: {needs}")
    return [round(need / float(unit)) for need in needs], math.floor(limit / float(unit) + 1e-9)
