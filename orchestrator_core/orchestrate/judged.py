"""Judged: whether a plan is worth following, as it was decided for what was known then.

To judge takes simulated runs, for which tasks would wait; so it is done when a run is over, and
remembered together with the plan until runs have taught something else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from orchestrator_core.orchestrate.experience import Lessons

DIFFERS = 0.05
"""What Dask takes, or a plan beside its forecast, differs if the logarithm differs by more."""

COUNTS_MORE = 0.06
"""How much more or less runs count beside the simulation if that matters: up to the third run."""


@dataclass(frozen=True, slots=True)
class Basis:
    """On what a plan was judged.

    Attributes:
        min_gain: part of Dask's time that it had to save.
        dask: median seconds of the runs that were left to Dask, 0 if there were none.
        weight: how much these count beside the simulation. drift: as in `Lessons`.
    """

    min_gain: float
    dask: float
    weight: float
    drift: float

    @staticmethod
    def of(lessons: Lessons, min_gain: float) -> Basis:
        n = len(lessons.dask)
        return Basis(min_gain, median(lessons.dask) if n else 0.0, n / (n + 1), lessons.drift)

    def resembles(self, other: Basis) -> bool:
        """Would a judgement by the other be the same, as far as one can tell?"""
        if self.min_gain != other.min_gain or (self.dask > 0) != (other.dask > 0):
            return False
        slower = abs(math.log(self.dask / other.dask)) if self.dask > 0 else 0.0
        drifted = abs(self.drift - other.drift)
        return max(slower, drifted) <= DIFFERS and abs(self.weight - other.weight) <= COUNTS_MORE


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision about a plan.

    Attributes:
        adopt: follow it? reason: one sentence for people.
        predicted: seconds that it will take. default_predicted: seconds that Dask alone will take;
            None where the plan is not followed for its time.
    """

    adopt: bool
    reason: str
    predicted: float
    default_predicted: float | None
    basis: Basis
