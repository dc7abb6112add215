"""How settings are read; what cannot be read is said in words that follow the value."""

from __future__ import annotations

import math
import os
from datetime import timedelta

from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph.figures import as_float
from orchestrator_core.plan.objective import Objective
from orchestrator_core.settings.quantities import parse_seconds

MODES = ("auto", "director", "restrict", "observe", "off")

YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def mode(value: object) -> str:
    """A mode, in letters of any size; YAML and TOML users may mean ``off`` by False."""
    found = "off" if value is False else str(value).strip().lower()
    if found not in MODES:
        raise InvalidInput(f"is no mode; choose one of {', '.join(MODES)}")
    return found


def text(value: object) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("is no text")
    return value.strip()


def database(value: object) -> str:
    """The URL or the path of a database; what it says may be secret, so it is not shown."""
    try:
        return text(os.fspath(value) if isinstance(value, os.PathLike) else value)
    except InvalidInput as error:
        raise InvalidInput(f"{error}; expected a URL or a path, such as 'runs.db'") from None


def objective(value: object) -> str:
    """Criteria, as text or as several names, in letters of any size."""
    try:
        if isinstance(value, Objective):
            return str(value)
        if isinstance(value, str):
            return str(Objective.of(value.lower()))
        if isinstance(value, (list, tuple)):
            return str(Objective.of(tuple(str(each).lower() for each in value)))
    except InvalidInput as error:
        raise InvalidInput(f"is no objective: {error}") from None
    raise InvalidInput('is no objective; expected criteria, such as "tardiness,makespan"')


def seconds(value: object) -> float:
    """Seconds > 0: a number, a `timedelta`, or text with a unit."""
    return _seconds(value, "is no time > 0, such as 90, 90s or 1.5min")


def positive(value: object) -> float:
    """A number > 0."""
    return _number(_figure(value), "is no number > 0")


def price(value: object) -> float:
    """A number >= 0."""
    return _number(_figure(value), "is no number >= 0", least=0.0)


def fraction(value: object) -> float:
    """A part in [0, 1)."""
    expected = "is no part >= 0 and < 1"
    found = _number(_figure(value), expected, least=0.0)
    if found >= 1:
        raise InvalidInput(expected)
    return found


def count(value: object) -> int:
    """A whole number >= 1."""
    found = _number(_figure(value), "is no whole number >= 1", least=1.0)
    if found != int(found):
        raise InvalidInput("is no whole number >= 1")
    return int(found)


def yes_or_no(value: object) -> bool:
    """A decision."""
    if isinstance(value, bool):
        return value
    said = str(value).strip().lower()
    if said not in (*YES, *NO):
        raise InvalidInput("is neither true nor false")
    return said in YES


def wait(value: object) -> str:
    """The word ``wait``, in letters of any size."""
    found = text(value).lower()
    if found != "wait":
        raise InvalidInput("is not wait")
    return found


def patience(value: object) -> float:
    """Seconds >= 0, in the same ways; YAML and TOML users may mean 0 by False."""
    said = 0.0 if value is False else value
    return _seconds(said, "is no time >= 0, such as 10, 90s or 1.5min", least=0.0)


def _seconds(value: object, expected: str, least: float | None = None) -> float:
    if isinstance(value, timedelta):
        return _number(value.total_seconds(), expected, least)
    if isinstance(value, str):
        try:
            return _number(parse_seconds(value), expected, least)
        except InvalidInput:
            raise InvalidInput(expected) from None
    return _number(value, expected, least)


def _figure(value: object) -> object:
    """What stands in an environment variable is text."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _number(value: object, expected: str, least: float | None = None) -> float:
    # True is a number to Python, and never meant as one.
    found = math.nan if isinstance(value, bool) else as_float(value)
    if not math.isfinite(found) or (found <= 0 if least is None else found < least):
        raise InvalidInput(expected)
    return found
