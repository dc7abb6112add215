"""Links: what transfers between workers took, and what they will take.

Learned for pairs of worker kinds, on one host and between hosts apart, because plans gain from
workers that are alike; a single pair counts for itself only where it is clearly different. What is
told is rounded, and stays what it was until it is clearly wrong: the same machines are to stay the
same cluster.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats

LATENCY = 0.002
"""Seconds from asking for an output to its first byte, on a local network."""

LARGE, SMALL = 1_000_000, 16_000
"""Bytes from which a transfer tells of bandwidth, and up to which it tells of latency."""

KEPT = 64
"""Transfers of each size that are kept of a group or a pair: the latest."""

ENOUGH, ENOUGH_OF_A_PAIR = 4, 8
"""Transfers that are believed."""

PAIRS = 10_000
"""Pairs that are kept; the first seen goes first."""

DIFFERENT = 2.0
"""Factor by which a pair must differ from its group to count for itself."""

SHORTEST, LONGEST = 0.0002, 0.1
"""Seconds between which a latency is believed."""


class End(NamedTuple):
    """A worker as links see it."""

    address: str
    kind: str
    host: str


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


class Transfers:
    """The latest transfers of a group or a pair, and what they tell."""

    def __init__(self) -> None:
        self._large: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._small: deque[float] = deque(maxlen=KEPT)
        self._bandwidth, self._latency = Rounded(2), Rounded(1)

    def add(self, nbytes: float, seconds: float) -> None:
        if nbytes >= LARGE:
            self._large.append((nbytes, seconds))
        elif nbytes <= SMALL:
            self._small.append(seconds)

    def latency(self) -> float | None:
        """Seconds; None if too little is known."""
        if len(self._small) < ENOUGH * 4:
            return None
        return self._latency(min(max(median(self._small), SHORTEST), LONGEST))

    def bandwidth(self, latency: float, enough: int = ENOUGH) -> float | None:
        """Bytes per second once a transfer flows, large ones counting more; None if not known."""
        if len(self._large) < enough:
            return None
        rates = sorted((n / max(s - latency, 0.1 * s, 1e-9), n) for n, s in self._large)
        passed = np.cumsum([n for _, n in rates])
        middle = int(np.searchsorted(passed, passed[-1] / 2))
        return self._bandwidth(rates[middle][0])


class Links:
    """What transfers took so far; `observe` is cheap, `matrices` is not."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, bool], Transfers] = {}
        self._pairs: dict[tuple[str, str], Transfers] = {}
        self.observed = 0
        """Transfers so far."""

    def observe(self, source: End, destination: End, nbytes: float, seconds: float) -> None:
        """An output, or several at once, came from one worker to another."""
        if not (math.isfinite(nbytes) and nbytes >= 0 and 0 < seconds < math.inf):
            return
        self.observed += 1
        near = source.host == destination.host
        for group in ((source.kind, destination.kind, near), ("", "", near)):
            self._groups.setdefault(group, Transfers()).add(nbytes, seconds)
        pair = (source.address, destination.address)
        if pair not in self._pairs and len(self._pairs) >= PAIRS:
            del self._pairs[next(iter(self._pairs))]
        self._pairs.setdefault(pair, Transfers()).add(nbytes, seconds)

    def matrices(self, ends: Sequence[End], otherwise: float) -> tuple[Floats, Floats]:
        """(w, w) seconds of latency and seconds per byte; `otherwise`: bytes/s where not known."""
        kinds = sorted({end.kind for end in ends})
        table = np.array(
            [
                [[self._group(a, b, near, otherwise) for near in (False, True)] for b in kinds]
                for a in kinds
            ]
        )
        kind = np.array([kinds.index(end.kind) for end in ends])
        hosts = {host: i for i, host in enumerate({end.host for end in ends})}
        host = np.array([hosts[end.host] for end in ends])
        near = (host[:, None] == host[None, :]).astype(np.int64)
        latency, bandwidth = np.moveaxis(table[kind[:, None], kind[None, :], near], -1, 0)
        bandwidth = np.array(bandwidth)
        self._single_pairs(ends, latency, bandwidth)
        return np.array(latency), 1.0 / bandwidth

    def _group(self, source: str, target: str, near: bool, otherwise: float) -> tuple[float, float]:
        """Latency and bandwidth between two kinds; what is not known of them, of all."""
        latency = bandwidth = None
        for group in ((source, target, near), ("", "", near)):
            transfers = self._groups.get(group)
            if transfers is not None:
                latency = latency or transfers.latency()
                bandwidth = bandwidth or transfers.bandwidth(latency or LATENCY)
        return latency or LATENCY, bandwidth or otherwise

    def _single_pairs(self, ends: Sequence[End], latency: Floats, bandwidth: Floats) -> None:
        """Put in the bandwidth of the pairs that are unlike their group."""
        place = {end.address: i for i, end in enumerate(ends)}
        for (source, target), transfers in self._pairs.items():
            a, b = place.get(source), place.get(target)
            if a is None or b is None:
                continue
            own = transfers.bandwidth(float(latency[a, b]), ENOUGH_OF_A_PAIR)
            if own is not None and not 1 / DIFFERENT < own / bandwidth[a, b] < DIFFERENT:
                bandwidth[a, b] = own
