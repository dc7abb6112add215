"""Earlier: the links that an earlier session found, for the workers of this one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats


class Earlier:
    """Links of a cluster that was; workers are known again by name and kind, or by kind alone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kinds = {kind: i for i, kind in enumerate(cluster.kinds)}
        kind = np.array([self._kinds[worker.kind] for worker in cluster.workers])
        apart = ~np.eye(len(cluster), dtype=bool)
        k = len(self._kinds)
        self._by_kind = np.full((2, k + 1, k + 1), np.nan)
        """Last row and column: kinds that were not there."""
        for a in range(k):
            for b in range(k):
                among = (kind == a)[:, None] & (kind == b) & apart
                if among.any():
                    self._by_kind[0, a, b] = np.median(cluster.latency[among])
                    self._by_kind[1, a, b] = np.median(cluster.seconds_per_byte[among])

    def matrices(self, names: Sequence[str], kinds: Sequence[str]) -> tuple[Floats, Floats]:
        """(w, w) seconds of latency and seconds per byte; NaN where nothing was found."""
        kind = np.array([self._kinds.get(one, -1) for one in kinds])
        latency, per_byte = (table[np.ix_(kind, kind)] for table in self._by_kind)
        then = np.array([self._place(*one) for one in zip(names, kinds, strict=True)])
        known = np.flatnonzero(then >= 0)
        here, there = np.ix_(known, known), np.ix_(then[known], then[known])
        latency[here] = self._cluster.latency[there]
        per_byte[here] = self._cluster.seconds_per_byte[there]
        return latency, per_byte

    def _place(self, name: str, kind: str) -> int:
        place = self._cluster.index.get(name, -1)
        return place if place >= 0 and self._cluster.workers[place].kind == kind else -1
