"""Rounded: a number that is told in steps, so that what is measured anew need not be told anew."""

from __future__ import annotations

import math


class Rounded:
    """A number > 0 in steps of a factor; it changes when it is off by more than most of a step."""

    def __init__(self, per_doubling: float) -> None:
        self._per_doubling = per_doubling
        self._step: int | None = None

    def __call__(self, number: float) -> float:
        exact = math.log2(max(number, 1e-12)) * self._per_doubling
        if self._step is None or abs(exact - self._step) > 0.75:
            self._step = round(exact)
        return float(2.0 ** (self._step / self._per_doubling))
