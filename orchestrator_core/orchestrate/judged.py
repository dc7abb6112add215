"""Judged: whether a plan is worth following, as it was decided for what was known then.

To judge takes simulated runs, for which tasks would wait; so it is done when a run is over, and
remembered together with the plan until runs have taught something else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.orchestrate.experience import Lessons

DIFFERS = 0.05
"""What Dask takes, a plan beside its forecast, or how long tasks may take, differs if the logarithm
differs by more."""

COUNTS_MORE = 0.06
"""How much more or less runs count beside the simulation if that matters: up to the third run."""


@dataclass(frozen=True, slots=True)
class Basis:
    """On what a plan was judged.

    Attributes:
        min_gain: part of Dask's time that it had to save.
        dask: usual seconds of the runs that were left to Dask, 0 if there were none.
        weight: how much these count beside the simulation. drift: as in `Lessons`.
        unsure: how much longer (log) all tasks take at durations that are rarely exceeded.
    """

    min_gain: float
    dask: float
    weight: float
    drift: float
    unsure: float

    @staticmethod
    def of(lessons: Lessons, min_gain: float, unsure: float) -> Basis:
        n = len(lessons.dask)
        return Basis(min_gain, lessons.usual_dask, n / (n + 1), lessons.drift, unsure)

    def resembles(self, other: Basis) -> bool:
        """Would a judgement by the other be the same, as far as one can tell?"""
        if self.min_gain != other.min_gain or (self.dask > 0) != (other.dask > 0):
            return False
        slower = abs(math.log(self.dask / other.dask)) if self.dask > 0 else 0.0
        drifted = abs(self.drift - other.drift)
        surer = abs(self.unsure - other.unsure)
        return (
            max(slower, drifted, surer) <= DIFFERS
            and abs(self.weight - other.weight) <= COUNTS_MORE
        )


def unsure(instance: Instance, pessimistic: Instance) -> float:
    """By how much (log) all work is more at durations that are rarely exceeded."""
    count = instance.graph.count
    usual, long = (float(each.best_seconds @ count) for each in (instance, pessimistic))
    return math.log(long / usual) if 0 < usual < math.inf and 0 < long < math.inf else 0.0


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
