"""Cut: an axis of an array and the parts that it falls into."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cut:
    """Along which axis an array is cut, and how long its parts are."""

    axis: int
    sizes: tuple[int, ...]

    def shape(self, whole: Sequence[int], k: int) -> tuple[int, ...]:
        return (*whole[: self.axis], self.sizes[k], *whole[self.axis + 1 :])

    def bounds(self, k: int) -> tuple[int, int]:
        ends = [0, *itertools.accumulate(self.sizes)]
        return ends[k], ends[k + 1]
