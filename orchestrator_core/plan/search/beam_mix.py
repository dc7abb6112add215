"""Random numbers that stand for something, compiled (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner


@inner
def mixed(x: np.uint64) -> np.uint64:
    """Another number for each number: the finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H.
    Flood, Fast splittable pseudorandom number generators, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def chance(x: int, salt: int) -> float:
    """A number from 0 to 1."""
    return float(mixed(np.uint64(x ^ salt)) >> np.uint64(11)) / (1 << 53)
