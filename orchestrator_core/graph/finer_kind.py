"""Finer kinds: workers that look alike, and of which some were seen to be faster or slower.

``4t-16g~x2`` is what the workers of kind ``4t-16g`` are called that work about twice as fast as
most of that kind.
"""

from __future__ import annotations

import math
import re

STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Speeds that are told apart, within a factor of ten; coarse, so that a name outlives drift."""

_FINER = re.compile(r"~x[0-9][0-9.e+-]*$")


def finer_kind(kind: str, speed: float) -> str:
    """The kind of workers that are `speed` times as fast as `kind`; `kind` where about the same."""
    step = _stepped(speed) if speed >= 1 else 1.0 / _stepped(1.0 / speed)
    return kind if step == 1.0 else f"{kind}~x{step:.2g}"


def plain_kind(kind: str) -> str:
    """The kind before it was told how fast the worker is."""
    return _FINER.sub("", kind)


def _stepped(speed: float) -> float:
    """The nearest step by ratio; >= 1."""
    tens = 10.0 ** math.floor(math.log10(speed))
    return tens * min(STEPS, key=lambda step: abs(math.log(speed / tens / step)))
