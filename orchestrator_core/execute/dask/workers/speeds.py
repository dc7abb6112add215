"""How workers' speeds compare, by what they measured: a hint for where nothing better is known.

Only workers of different hardware can differ, and only by whole steps: what two workers of the same
hardware measure differs by how busy their machines were, not by what they can do.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from statistics import median

from orchestrator_core.execute.dask.workers.describe import Description

STEP = 1.5
"""Ratio of two neighbouring speeds."""


def hinted_speeds(said: Mapping[str, Description]) -> dict[str, float]:
    """A speed for each worker: `STEP` to a whole power, 1 for the hardware that most have.

    What their owners declared beats it; where anyone did, those who say nothing have speed 1.
    """
    if any(one.speed is not None for one in said.values()):
        return {worker: one.speed or 1.0 for worker, one in said.items()}
    rounds: dict[Hashable, list[float]] = {}
    for one in said.values():
        if one.round_seconds is not None and one.processor:
            rounds.setdefault(one.processor, []).append(one.round_seconds)
    if len(rounds) < 2:
        return dict.fromkeys(said, 1.0)
    seconds = {hardware: median(measured) for hardware, measured in rounds.items()}
    usual = max(seconds, key=lambda hardware: (len(rounds[hardware]), seconds[hardware]))
    return {
        worker: _stepped(seconds[usual] / seconds.get(one.processor, seconds[usual]))
        for worker, one in said.items()
    }


def _stepped(ratio: float) -> float:
    return float(STEP ** round(math.log(ratio) / math.log(STEP)))
