"""When two numbers are the same but for rounding."""

from __future__ import annotations

SLACK = 1e-9
"""Relative, as in `check_schedule`."""

NOTHING = 1e-12
"""Absolute."""


def exceeds(one: float, other: float) -> bool:
    """Is the first one larger by more than rounding?"""
    return one > other + SLACK * abs(other) + NOTHING


def is_near(one: float, other: float) -> bool:
    return not exceeds(one, other) and not exceeds(other, one)
