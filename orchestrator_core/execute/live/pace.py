"""Pace: how much slower or faster than believed this run is, by kind of task and by worker."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

JITTER = 0.01
"""Seconds by which any duration may be off; short tasks say little."""

FURTHEST = 2.0
"""Largest deviation (log) that a single task is believed to tell of."""

KIND_TASKS, WORKER_TASKS = 4.0, 2.0
"""Tasks that the belief "as expected" is worth: of a kind, and of a worker."""

SMALLEST = 0.1
"""Deviations (log) below this count as none: they would only make plans restless."""

ROUNDS = 4


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
        ratio = (self.actual + JITTER) / (self.believed + JITTER)
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
        """What these durations say; drawn towards "as believed" where they are few.

        An additive model of the logarithms, its two parts fitted in turn (backfitting; Hastie and
        Tibshirani, "Generalized Additive Models", 1986), each mean shrunk by its number of tasks.
        """
        rows = [(o.kind, o.worker, o.deviation) for o in observed]
        kinds: dict[str, float] = {}
        workers: dict[str, float] = {}
        for _ in range(ROUNDS):
            workers = _means(((w, d - kinds.get(k, 0.0)) for k, w, d in rows), WORKER_TASKS)
            kinds = _means(((k, d - workers.get(w, 0.0)) for k, w, d in rows), KIND_TASKS)
        return Pace(_clear(kinds), _clear(workers))


def _means(rows: Iterable[tuple[str, float]], belief: float) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    number: dict[str, int] = defaultdict(int)
    for name, value in rows:
        total[name] += value
        number[name] += 1
    return {name: total[name] / (number[name] + belief) for name in total}


def _clear(factors: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in factors.items() if abs(value) >= SMALLEST}
