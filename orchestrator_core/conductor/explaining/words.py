"""Figures and places as people say them."""

from __future__ import annotations

import re
from pathlib import PurePath

TIMES = ((60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))

SOURCE = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(:[0-9]+)? \((?P<function>.*)\)")


def change(before: float, after: float, units: tuple[tuple[float, str], ...]) -> str:
    """``210 → 32 ms``, ``1.2 s → 32 ms``, ``32 ms`` if nothing changes."""
    was, now = _in_units(before, units), _in_units(after, units)
    if was == now:
        return " ".join(now)
    return (
        f"{was[0]} → {' '.join(now)}" if was[1] == now[1] else f"{' '.join(was)} → {' '.join(now)}"
    )


def amount(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """``32 ms``, ``17 MB``."""
    return " ".join(_in_units(value, units))


def ratio(before: float, after: float) -> str:
    """``3.4×``, of something that became less; empty if it did not, or by nothing to speak of."""
    if not 0 < after < before / 1.05:
        return ""
    return f"{_digits(before / after)}×"


def where(source: str) -> tuple[str, str]:
    """File with line, and function; empty if they are not known."""
    found = SOURCE.fullmatch(source)
    if found is None:
        return source, ""
    name = found["function"].split(".")[-1]
    place = f"{PurePath(found['file'].replace(chr(92), '/')).name}:{found['line']}"
    return place, "" if name.startswith("<") else name


def _in_units(value: float, units: tuple[tuple[float, str], ...]) -> tuple[str, str]:
    for size, unit in units:
        if value >= size * 0.9995:
            return _digits(value / size), unit
    size, unit = units[-1]
    return _digits(value / size), unit


def _digits(value: float) -> str:
    """Two or three that say something."""
    if value >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.0f}" if value == int(value) else f"{value:.3g}" if value >= 10 else f"{value:.2g}"
    )
