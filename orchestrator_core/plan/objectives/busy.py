"""Busy: what occupies one worker, and how far an item of it can be put off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        """Move the item to the latest free time that ends by `latest`; by how many seconds.

        One pass over what occupies the worker meanwhile, however full it is.
        """
        i = self.place[item]
        begin, length = float(self.begin[i]), float(self.end[i] - self.begin[i])
        if latest - length <= begin + eps:
            return 0.0
        since, until = (np.zeros(0), np.zeros(0)) if length <= eps else self._full(i, latest, eps)
        # Free is what lies before, between and after the times that are full.
        opens, closes = np.concatenate([[-np.inf], until]), np.concatenate([since, [latest]])
        close = float(closes[closes - length >= opens - eps].max(initial=-np.inf))
        gain = close - length - begin
        if gain <= eps:
            return 0.0
        self.begin[i] += gain
        self.end[i] += gain
        return gain

    def _full(self, i: int, latest: float, eps: float) -> tuple[Floats, Floats]:
        """When each time begins, and ends, in which the others leave no room for item i; from its
        own begin on, in order. Each of them counts as over `eps` sooner."""
        others = self.end - eps > np.maximum(self.begin, self.begin[i])
        others &= self.begin < latest - eps
        others[i] = False
        begin, end, taken = self.begin[others], self.end[others] - eps, self.taken[others]
        # Ends stand first, and the sort is stable: at equal times they come before begins.
        moment = np.concatenate([end, begin])
        order = np.argsort(moment, kind="stable")
        moment, change = moment[order], np.concatenate([-taken, taken])[order]
        over = (np.cumsum(change, axis=0) > self.limit - self.taken[i]).any(axis=1)
        before = np.concatenate([[False], over])[:-1]
        return moment[over & ~before], moment[before & ~over]
