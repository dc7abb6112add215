"""Link: how an output gets from one worker to another (stage 1).

Time in seconds, sizes in bytes, rates in bytes per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.graph.figures import as_float
from orchestrator_core.graph.text import shown
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
    _check_types(link, links)
    known = {worker.name for worker in workers} | {worker.kind for worker in workers}
    for pair, each in {("any", "any"): link, **links}.items():
        where = f"link {pair[0]!r} -> {pair[1]!r}"
        if each is not link and not set(pair) <= known:
            missing = next(name for name in pair if name not in known)
            raise InvalidCluster(
                f"{where}: no worker has the name or kind {missing!r}; there are {sorted(known)}"
            )
        if not 0 <= as_float(each.latency) < math.inf:
            raise InvalidCluster(
                f"{where} has latency = {shown(each.latency)}; it must be finite, >= 0"
            )
        # The inverse of a still smaller rate would be infinite.
        if not all(as_float(rate) > 1e-300 for rate in (each.bandwidth, each.encode_rate)):
            raise InvalidCluster(
                f"{where} has bandwidth = {shown(each.bandwidth)}, encode_rate = "
                f"{shown(each.encode_rate)}; both must be > 0 bytes per second"
            )


def _check_types(link: object, links: object) -> None:
    if not isinstance(link, Link):
        raise InvalidCluster(
            f"link is {shown(link)}; give a Link: Link(latency=0.001, bandwidth=1e8)"
        )
    example = "{('a', 'b'): Link(bandwidth=1e8)}"
    if not isinstance(links, Mapping):
        raise InvalidCluster(f"links is {shown(links)}; give a mapping: {example}")
    for pair, each in links.items():
        two = isinstance(pair, tuple) and len(pair) == 2
        if not (two and isinstance(each, Link)):
            raise InvalidCluster(
                f"links has {shown(pair)}: {shown(each)}; give two workers and a Link: {example}"
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
