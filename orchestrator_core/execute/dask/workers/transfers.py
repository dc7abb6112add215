"""Transfers: the latest between some workers, and what they tell of latency and bandwidth."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import accumulate
from statistics import median

from orchestrator_core.execute.dask.workers.rounded import Rounded

LATENCY = 0.002
"""Seconds from asking for an output to its first byte, on a local network."""

KEPT = 64
"""Transfers of each size that are kept: the latest."""

ENOUGH = 4
"""Large transfers that are believed, and four times as many small ones."""

AS_MANY = 6
"""For how many transfers stands what earlier sessions found; for fewer the more there are."""

SHORTEST, LONGEST = 0.0002, 0.1
"""Seconds between which a latency is believed."""


class Transfers:
    """The latest transfers of a group or a pair; medians, since single ones are late for anything.

    What is told is rounded, and stays what it was until it is clearly wrong.
    """

    def __init__(self) -> None:
        self._large: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._small: deque[float] = deque(maxlen=KEPT)
        self._bandwidth, self._latency = Rounded(2), Rounded(1)
        self._before: tuple[float, float] | None = None
        # With the latency that it was found at, as long as nothing more was added: of thousands of
        # pairs, most have sent nothing since they were last asked about.
        self._rate: tuple[float, float] | None = None

    def expect(self, latency: float, bandwidth: float) -> None:
        """Earlier sessions found this, in seconds and bytes/s; what comes outweighs it in time."""
        self._before = self._latency(latency), self._bandwidth(bandwidth)

    def add_small(self, seconds: float) -> None:
        """A transfer of next to nothing."""
        self._small.append(seconds)

    def add_large(self, nbytes: float, seconds: float) -> None:
        """A transfer that took so long, or would have taken had it been alone."""
        self._large.append((nbytes, seconds))
        self._rate = None

    def latency(self) -> float | None:
        """Seconds; None if too little is known."""
        before, n = self._before, len(self._small)
        if before is None and n < ENOUGH * 4:
            return None
        found = median(self._small) if n else None
        told = _between(None if before is None else before[0], found, n)
        return self._latency(min(max(told, SHORTEST), LONGEST))

    def bandwidth(self, latency: float, enough: int = ENOUGH) -> float | None:
        """Bytes per second once a transfer flows, large ones counting more; None if not known."""
        before, n = self._before, len(self._large)
        if before is None and n < enough:
            return None
        found = self._usual_rate(latency) if n else None
        return self._bandwidth(_between(None if before is None else before[1], found, n))

    def _usual_rate(self, latency: float) -> float:
        if self._rate is None or self._rate[0] != latency:
            self._rate = latency, usual_rate(self._large, latency)
        return self._rate[1]


def usual_rate(large: Iterable[tuple[float, float]], latency: float) -> float:
    """Bytes per second at which the median byte of these transfers passed.

    Args:
        large: bytes and seconds of each; at least one.
    """
    rates = sorted([(n / max(s - latency, 0.1 * s, 1e-9), n) for n, s in large])
    passed = list(accumulate(n for _, n in rates))
    return rates[bisect_left(passed, passed[-1] / 2)][0]


def _between(before: float | None, found: float | None, n: int) -> float:
    """The mean (of logs) of what was and what `n` transfers found, which counts for ever more.

    So that each of many short sessions moves it, and none alone.
    """
    if found is None or before is None:
        told = before if found is None else found
        assert told is not None
        return told
    weight = AS_MANY * (1.0 - n / KEPT)
    return float(before ** (weight / (weight + n)) * found ** (n / (weight + n)))
