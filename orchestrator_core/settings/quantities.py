"""Sizes and times as people type them: ``8GB``, ``512MiB``, ``100MB/s``, ``1ms``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from orchestrator_core.errors import InvalidInput

BYTES = {
    "": 1.0,
    "B": 1.0,
    **{f"{p}{b}": 1000.0**power for power, p in enumerate("kMGT", start=1) for b in ("", "B")},
    **{f"{p}i{b}": 1024.0**power for power, p in enumerate("KMGT", start=1) for b in ("", "B")},
}
SECONDS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
"""Units are those that Dask reads in hints: what may be said of a task, may be said everywhere."""

_QUANTITY = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(text: str) -> float:
    """Bytes; ``/s`` after a rate may be left out.

    Raises:
        InvalidInput: if it is no size.
    """
    return _parse(text.removesuffix("/s"), BYTES, "a size such as 8GB, 512MiB or 1e9")


def parse_seconds(text: str) -> float:
    """Seconds.

    Raises:
        InvalidInput: if it is no time.
    """
    return _parse(text, SECONDS, "a time such as 1ms, 0.5s or 2min")


def parse_number(text: str) -> float:
    """A plain number >= 0.

    Raises:
        InvalidInput: if it is none.
    """
    return _parse(text, {"": 1.0}, "a number >= 0")


def _parse(text: str, units: Mapping[str, float], expected: str) -> float:
    found = _QUANTITY.fullmatch(text)
    by_case = {name.lower(): size for name, size in units.items()}
    unit = by_case.get(found[2].lower()) if found else None
    value = float(found[1]) * unit if found and unit is not None else math.inf
    if not math.isfinite(value):
        raise InvalidInput(f"{text!r} is not {expected}")
    return value
