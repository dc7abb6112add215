"""Figures as people say them."""

from __future__ import annotations

import math
import time

_PREFIXES = ("k", "M", "G", "T", "P", "E")


def seconds(value: float | None) -> str:
    """``12.3 s``, ``4.5 min``, ``310 ms``; a dash for what is not known."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 7200:
        return f"{value / 3600:.2f} h"
    if size >= 600:
        return f"{value / 60:.1f} min"
    if size >= 0.1:
        return f"{value:.2f} s" if size < 100 else f"{value:.1f} s"
    return "0 s" if value == 0 else f"{float(f'{1000 * value:.2g}'):g} ms"


def size(nbytes: float, digits: int = 3) -> str:
    """``7 bytes``, ``25.3 GB``, ``1 PB``."""
    power, rounded = 0, float(f"{nbytes:.{digits}g}")
    while rounded >= 1000 and power < len(_PREFIXES):
        power, rounded = power + 1, float(f"{nbytes / 1000 ** (power + 1):.{digits}g}")
    return f"{rounded:g} bytes" if power == 0 else f"{rounded:.{digits}g} {_PREFIXES[power - 1]}B"


def two_sizes(one: float, other: float) -> tuple[str, str]:
    """Both with as many digits as tell them apart."""
    for digits in (3, 6, 9):
        said = size(one, digits), size(other, digits)
        if said[0] != said[1]:
            return said
    return f"{one:.17g} bytes", f"{other:.17g} bytes"


def percent(fraction: float | None, sign: bool = False) -> str:
    """``12.3 %``, or ``+12.3 %`` with a sign."""
    if fraction is None or not math.isfinite(fraction):
        return "–"
    shown = round(100 * fraction, 1) + 0.0  # no minus before a nought
    return f"{shown:{'+' if sign else ''}.1f} %".replace("-", "−")


def ago(moment: float, now: float | None = None) -> str:
    """How long ago a moment (seconds since 1970) was: ``just now``, ``5 min ago``, a date.

    A dash where the calendar has none.
    """
    passed = (time.time() if now is None else now) - moment
    if passed < 60:
        return "just now"
    if passed < 3600:
        return f"{passed / 60:.0f} min ago"
    if passed < 48 * 3600:
        return f"{passed / 3600:.0f} h ago"
    if passed < 60 * 86400:
        return f"{passed / 86400:.0f} days ago"
    try:
        return time.strftime("%d %b %Y", time.localtime(moment))
    except (ValueError, OverflowError, OSError):
        return "–"


def plural(count: int, noun: str) -> str:
    """``1 task``, ``1,200 tasks``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def gap_of(makespan: float | None, bound: float | None) -> float | None:
    """``makespan / bound - 1``, never below 0; None if one of them is not known."""
    if makespan is None or bound is None:
        return None
    if makespan <= bound:
        return 0.0
    return makespan / bound - 1 if bound > 0 else math.inf
