"""Link: how an output gets from one worker to another (stage 1).

Time in seconds, sizes in bytes, rates in bytes per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.worker import Worker


@dataclass(frozen=True, slots=True)
class Link:
    """How an output gets from one worker to another: encode, then `latency + nbytes / bandwidth`.

    Attributes:
        latency: seconds, >= 0.
        bandwidth: bytes per second, > 0; infinity for no delay by size.
        encode_rate: bytes per second at which the sender serialises, on one of its threads;
            infinity where that takes no time.
    """

    latency: float = 0.0
    bandwidth: float = math.inf
    encode_rate: float = math.inf


def check_links(
    workers: tuple[Worker, ...], link: Link, links: Mapping[tuple[str, str], Link]
) -> None:
    """
    Raises:
        InvalidCluster: naming the first link that cannot be, or is between workers unknown.
    """
    known = {worker.name for worker in workers} | {worker.kind for worker in workers}
    for pair, each in {("any", "any"): link, **links}.items():
        where = f"link {pair[0]!r} -> {pair[1]!r}"
        if each is not link and not set(pair) <= known:
            missing = next(name for name in pair if name not in known)
            raise InvalidCluster(
                f"{where}: no worker has the name or kind {missing!r}; there are {sorted(known)}"
            )
        if not (isinstance(each.latency, Real) and 0 <= each.latency < math.inf):
            raise InvalidCluster(f"{where} has latency = {each.latency!r}; it must be finite, >= 0")
        # The inverse of a still smaller rate would be infinite.
        if not all(isinstance(r, Real) and r > 1e-300 for r in (each.bandwidth, each.encode_rate)):
            raise InvalidCluster(
                f"{where} has bandwidth = {each.bandwidth!r}, encode_rate = {each.encode_rate!r}; "
                "both must be > 0 bytes per second"
            )


def find_link(
    source: Worker, target: Worker, links: Mapping[tuple[str, str], Link], otherwise: Link
) -> Link:
    """The link of two workers: by their names, else by their kinds, else backwards."""
    for a, b in ((source.name, target.name), (source.kind, target.kind)):
        for pair in ((a, b), (b, a)):
            if pair in links:
                return links[pair]
    return otherwise


def inverse(link: Link) -> tuple[float, float, float]:
    """Latency, and seconds for a byte of sending and of encoding."""
    return link.latency, 1.0 / link.bandwidth, 1.0 / link.encode_rate
