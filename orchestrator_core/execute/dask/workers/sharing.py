"""Sharing: how long transfers would have taken if each had had its workers for itself.

What two workers send each other takes longer while one of them sends or receives something else.
How often that happens is a matter of the graph that runs; the link is the same for all graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats


@dataclass(frozen=True, slots=True)
class Transfer:
    """From one worker to another: addresses, bytes, and when, in seconds by one clock."""

    source: str
    destination: str
    nbytes: float
    start: float
    stop: float


def alone_seconds(transfers: Sequence[Transfer]) -> Floats:
    """(n,) seconds of each, divided by how many its busier end had under way meanwhile, in the
    mean; the ends are asked apart, since lines carry both directions at once."""
    start = np.array([each.start for each in transfers])
    stop = np.array([each.stop for each in transfers])
    common = np.minimum(stop[:, None], stop) - np.maximum(start[:, None], start)
    common = np.maximum(common, 0.0)
    seconds: Floats = stop - start
    at_once = np.ones(len(transfers))
    for end in ("source", "destination"):
        number: dict[str, int] = {}
        place = np.array([number.setdefault(getattr(t, end), len(number)) for t in transfers])
        under_way = np.where(place[:, None] == place, common, 0.0).sum(axis=1)
        at_once = np.maximum(at_once, under_way / seconds)
    return seconds / at_once
