"""Links: what transfers between workers took, and what they will take.

Learned for all workers together, on one host and between hosts apart, because plans gain from
workers that are alike; two kinds, and in them a single pair, count for themselves only where they
are clearly different. What is told is rounded, and stays what it was until it is clearly wrong: the
same machines are to stay the same cluster, from one session to the next, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.execute.dask.workers.earlier import Earlier
from orchestrator_core.execute.dask.workers.sharing import Transfer, alone_seconds
from orchestrator_core.execute.dask.workers.transfers import LATENCY, Transfers
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, Ints

LARGE, SMALL = 1_000_000, 16_000
"""Bytes from which a transfer tells of bandwidth, and up to which it tells of latency."""

WAITING = 128
"""Large transfers that wait to be looked at, beside each other."""

ENOUGH_ALONE = 8
"""Large transfers of a pair, or of two kinds, that are believed against those of all."""

PAIRS = 10_000
"""Pairs that are kept; the first seen goes first."""

DIFFERENT = 2.0
"""Factor by which two kinds must differ from all, or a pair from its kinds, to count alone."""


class End(NamedTuple):
    """A worker as links see it."""

    address: str
    kind: str
    host: str
    name: str = ""


Mask = NDArray[np.bool_]

Group = tuple[str, str, bool]
"""Kinds of source and destination; are they on one host? Twice "" for all kinds."""


class Links:
    """What transfers took so far; `observe` is cheap, `matrices` is not."""

    def __init__(self) -> None:
        self._groups: dict[Group, Transfers] = {}
        self._pairs: dict[tuple[str, str], Transfers] = {}
        self._waiting: list[tuple[Group, Transfer]] = []
        self._earlier: tuple[Earlier, ...] = ()
        self._remembered: set[Group] = set()
        self.observed = 0
        """Transfers so far."""

    @property
    def is_known(self) -> bool:
        """Is any bandwidth known better than by guess?"""
        return any(group.bandwidth(LATENCY) is not None for group in self._groups.values())

    def recall(self, clusters: Sequence[Cluster]) -> None:
        """Earlier sessions ended with the links of these; the latest comes last."""
        self._earlier = tuple(Earlier(cluster) for cluster in reversed(clusters))
        self._remembered.clear()

    def observe(
        self, source: End, destination: End, nbytes: float, start: float, stop: float
    ) -> None:
        """An output, or several at once, came from one worker to another; seconds by any clock."""
        if not (math.isfinite(nbytes) and nbytes >= 0 and 0 < stop - start < math.inf):
            return
        self.observed += 1
        group = (source.kind, destination.kind, source.host == destination.host)
        if nbytes >= LARGE:
            transfer = Transfer(source.address, destination.address, nbytes, start, stop)
            self._waiting.append((group, transfer))
            if len(self._waiting) >= WAITING:
                self._look_at_waiting()
        elif nbytes <= SMALL:
            for one in self._both(group):
                one.add_small(stop - start)

    def matrices(self, ends: Sequence[End], otherwise: float) -> tuple[Floats, Floats]:
        """(w, w) seconds of latency and seconds per byte; `otherwise`: bytes/s where not known."""
        self._look_at_waiting()
        kinds = sorted({end.kind for end in ends})
        group = _groups(ends, kinds)
        if self._earlier:
            self._remember(ends, kinds, group)
        table = np.array(
            [
                self._group((a, b, near), otherwise)
                for a in kinds
                for b in kinds
                for near in (False, True)
            ]
        )
        latency, bandwidth = table[group, 0], table[group, 1]
        self._single_pairs(ends, latency, bandwidth)
        return latency, 1.0 / bandwidth

    def _look_at_waiting(self) -> None:
        """Add the large transfers, each with the seconds that it would have taken alone."""
        seconds = alone_seconds([transfer for _, transfer in self._waiting])
        for (group, transfer), alone in zip(self._waiting, seconds.tolist(), strict=True):
            for one in (*self._both(group), self._pair(transfer.source, transfer.destination)):
                one.add_large(transfer.nbytes, alone)
        self._waiting.clear()

    def _both(self, group: Group) -> tuple[Transfers, Transfers]:
        """The transfers of a group, and those of all kinds."""
        own = self._groups.setdefault(group, Transfers())
        return own, self._groups.setdefault(("", "", group[2]), Transfers())

    def _pair(self, source: str, destination: str) -> Transfers:
        """The transfers of a pair of addresses."""
        pair = (source, destination)
        if pair not in self._pairs and len(self._pairs) >= PAIRS:
            del self._pairs[next(iter(self._pairs))]
        return self._pairs.setdefault(pair, Transfers())

    def _remember(self, ends: Sequence[End], kinds: Sequence[str], group: Ints) -> None:
        """Let groups that are met for the first time begin with what an earlier session found."""
        number = np.where(np.eye(len(ends), dtype=bool), -1, group)
        for new in set(np.unique(number).tolist()) - {-1}:
            own = kinds[new // 2 // len(kinds)], kinds[new // 2 % len(kinds)], bool(new % 2)
            self._begin(own, ends, number == new)
            self._begin(("", "", own[2]), ends, (number >= 0) & (number % 2 == new % 2))

    def _begin(self, group: Group, ends: Sequence[End], among: Mask) -> None:
        if group not in self._remembered:
            self._remembered.add(group)
            found = self._found_earlier(ends, among)
            if found is not None:
                self._groups.setdefault(group, Transfers()).expect(*found)

    def _found_earlier(self, ends: Sequence[End], among: Mask) -> tuple[float, float] | None:
        """Latency and bandwidth in the median over these pairs, by the latest that knows any."""
        for earlier in self._earlier:
            latency, per_byte = earlier.matrices([e.name for e in ends], [e.kind for e in ends])
            known = among & (per_byte > 0)
            if known.any():
                return float(np.median(latency[known])), 1 / float(np.median(per_byte[known]))
        return None

    def _group(self, own: Group, otherwise: float) -> tuple[float, float]:
        """Latency and bandwidth between two kinds: those of all, unless these clearly differ."""
        shared, kinds = self._groups.get(("", "", own[2])), self._groups.get(own)
        latency = (shared and shared.latency()) or LATENCY
        bandwidth = (shared and shared.bandwidth(latency)) or otherwise
        return latency, _own(kinds, latency, bandwidth) or bandwidth

    def _single_pairs(self, ends: Sequence[End], latency: Floats, bandwidth: Floats) -> None:
        """Put in the bandwidth of the pairs that are unlike their group."""
        place = {end.address: i for i, end in enumerate(ends)}
        for (source, target), transfers in self._pairs.items():
            a, b = place.get(source), place.get(target)
            if a is None or b is None:
                continue
            own = _own(transfers, float(latency[a, b]), float(bandwidth[a, b]))
            bandwidth[a, b] = own or bandwidth[a, b]


def _own(transfers: Transfers | None, latency: float, usual: float) -> float | None:
    """The bandwidth that these transfers alone tell, if it is clearly another."""
    own = None if transfers is None else transfers.bandwidth(latency, ENOUGH_ALONE)
    return None if own is None or 1 / DIFFERENT < own / usual < DIFFERENT else own


def _groups(ends: Sequence[End], kinds: Sequence[str]) -> Ints:
    """(w, w) number of the group of each pair: kind of source, of destination, on one host?"""
    kind = np.array([kinds.index(end.kind) for end in ends])
    hosts = {host: i for i, host in enumerate({end.host for end in ends})}
    host = np.array([hosts[end.host] for end in ends])
    near = host[:, None] == host[None, :]
    number: Ints = 2 * (len(kinds) * kind[:, None] + kind[None, :]) + near
    return number
