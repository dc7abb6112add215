"""Ticks: seconds as integers for CP-SAT, and which side they are rounded to.

Where all times are multiples of one granularity, a tick is that granularity and nothing is lost.
Otherwise durations and delays are rounded down. Rounding every event of a valid schedule down gives
a solution of the rounded-down model, since ``floor(a) + floor(b) <= floor(a + b)`` and since two
intervals that meet after rounding met before: so the model's optimum is a lower bound on the true
one, and only the order of its solution, not its times, is used as a schedule.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from orchestrator_core.plan.engine.unit import common_unit, near

MOST_TICKS = 10**8
"""Ticks in the longest horizon: sums over hundreds of tasks stay far from 64 bits."""


class Rounding(enum.StrEnum):
    """What ticks do to a time."""

    EXACT = "exact"
    """All durations and delays are whole ticks: the model's optimum is the true one."""
    FLOOR = "floor"
    """They are rounded down: the model's optimum is a lower bound."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """The length of a tick, and what is lost by it."""

    seconds_per_tick: Fraction
    rounding: Rounding

    @property
    def exact(self) -> bool:
        return self.rounding is Rounding.EXACT

    def floor(self, seconds: float) -> int:
        """The last whole tick at or before `seconds`, up to floating-point noise."""
        ticks = seconds / float(self.seconds_per_tick)
        nearest = round(ticks)
        return nearest if self.exact and near(ticks, nearest) else math.floor(ticks)

    def ceil(self, seconds: float) -> int:
        """The first whole tick at or after `seconds`, up to floating-point noise."""
        return -self.floor(-seconds)

    def seconds(self, ticks: int) -> float:
        """The time of a tick, in seconds, correctly rounded."""
        return float(self.seconds_per_tick * ticks)


def choose_ticks(times: Iterable[float], horizon: float, most: int = MOST_TICKS) -> Ticks:
    """The longest tick that is exact for all `times`, or one that rounds them down.

    Args:
        times: finite seconds >= 0: durations, delays and releases.
        horizon: seconds that must be representable.
        most: ticks that the horizon may have.
    """
    different = sorted({time for time in times if time > 0})
    unit = common_unit(different)
    if unit is not None and horizon <= most * unit:
        return Ticks(unit, Rounding.EXACT)
    # A power of two, so that dividing by it in floating point is exact.
    exponent = math.ceil(math.log2(max(horizon, 1e-290) / most))
    return Ticks(Fraction(2) ** exponent, Rounding.FLOOR)
