"""Busy: what occupies one worker, and how far an item of it can be put off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats


@dataclass(slots=True)
class Busy:
    """What occupies a worker: (k,) begins and ends, (k, 1 + r) threads and resources taken of the
    limit (1 + r,); `place` finds an item among them."""

    place: dict[tuple[str, int], int]
    begin: Floats
    end: Floats
    taken: Floats
    limit: Floats

    def delay(self, item: tuple[str, int], latest: float, eps: float) -> float:
        """Move the item to the latest free time that ends by `latest`; by how many seconds."""
        i = self.place[item]
        begin, length = self.begin[i], self.end[i] - self.begin[i]
        close = latest
        while close - length > begin + eps:
            beside = (self.begin < close - eps) & (self.end > close - length + eps)
            beside[i] = False
            if length <= eps or self._fits(i, beside, close - length):
                gain = float(close - length - begin)
                self.begin[i] += gain
                self.end[i] += gain
                return gain
            close = float(self.begin[beside].max())
        return 0.0

    def _fits(self, i: int, beside: NDArray[np.bool_], since: float) -> bool:
        begin, end, taken = self.begin[beside], self.end[beside], self.taken[beside]
        room = self.limit - self.taken[i]
        if (taken.sum(axis=0) <= room).all():
            return True
        moments = np.maximum(begin, since)
        at_once = (begin <= moments[:, None]) & (end > moments[:, None])
        return bool((at_once @ taken <= room).all())
