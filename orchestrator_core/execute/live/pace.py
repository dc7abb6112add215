"""Pace: how much slower or faster than believed this run is, by kind of task and by worker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator_core.execute.live.effects import effects
from orchestrator_core.graph.task_graph import Floats, Ints

JITTER = 0.01
"""Seconds by which any duration may be off; short tasks say little."""

FURTHEST = 2.0
"""Largest deviation (log) that a single task is believed to tell of."""

SMALLEST = 0.1
"""Deviations (log) below this count as none: they would only make plans restless."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A task's duration beside what was believed, in seconds."""

    kind: str
    worker: str
    believed: float
    actual: float

    @property
    def deviation(self) -> float:
        """log(actual / believed), within bounds."""
        # A clock that was set back while the task ran tells of an end before the start.
        ratio = (max(0.0, self.actual) + JITTER) / (self.believed + JITTER)
        return max(-FURTHEST, min(FURTHEST, math.log(ratio)))


@dataclass(frozen=True)
class Pace:
    """Factors on durations; what is not in them is as believed.

    Attributes:
        kinds, workers: log factors. A task takes ``exp(kind + worker)`` times as long as believed.
    """

    kinds: dict[str, float]
    workers: dict[str, float]

    def factor(self, kind: str, worker: str) -> float:
        """By how much durations of this kind on this worker are to be multiplied."""
        return math.exp(self.kinds.get(kind, 0.0) + self.workers.get(worker, 0.0))

    @staticmethod
    def of(observed: Iterable[Observed]) -> Pace:
        """What these durations say; drawn towards "as believed" where they are few or scattered."""
        seen = list(observed)
        if not seen:
            return Pace({}, {})
        workers, worker = _numbered([each.worker for each in seen])
        kinds, kind = _numbered([each.kind for each in seen])
        deviations = np.array([each.deviation for each in seen])
        of_workers, of_kinds = effects(deviations, worker, kind)
        return Pace(_clear(kinds, of_kinds), _clear(workers, of_workers))


def _numbered(names: Sequence[str]) -> tuple[list[str], Ints]:
    """The different names, and (n,) the place of each of `names` among them."""
    place: dict[str, int] = {}
    numbers = [place.setdefault(name, len(place)) for name in names]
    return list(place), np.array(numbers, dtype=np.int64)


def _clear(names: Sequence[str], values: Floats) -> dict[str, float]:
    found = zip(names, values.tolist(), strict=True)
    return {name: value for name, value in found if abs(value) >= SMALLEST}
