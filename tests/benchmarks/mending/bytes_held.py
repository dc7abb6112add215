"""BytesHeld: what all workers of an emulated run hold together, as Dask holds it."""

from __future__ import annotations

from collections.abc import Sequence


class BytesHeld:
    """Outputs and their copies, each until the last of its consumers has ended.

    Attributes:
        peak: the most bytes so far.
    """

    def __init__(self, sizes: Sequence[float], consumers: Sequence[int]) -> None:
        """`sizes`: bytes of each task's output. `consumers`: how many tasks read it."""
        self._sizes, self._left = sizes, list(consumers)
        self._copies = [0] * len(sizes)
        self._now = self.peak = 0.0

    def hold(self, task: int) -> None:
        """One worker more holds the output."""
        self._copies[task] += 1
        self._now += self._sizes[task]
        self.peak = max(self.peak, self._now)

    def used(self, task: int) -> None:
        """One consumer has ended."""
        self._left[task] -= 1
        if not self._left[task]:
            self._now -= self._sizes[task] * self._copies[task]
            self._copies[task] = 0
