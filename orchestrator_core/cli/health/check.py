"""Check: one thing that was looked at, and what to do if it is not well."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Verdict(enum.StrEnum):
    """How it is."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """What was found; `mend` is what to do, empty where nothing is to be done."""

    name: str
    verdict: Verdict
    found: str
    mend: str = ""


def good(name: str, found: str) -> Check:
    return Check(name, Verdict.GOOD, found)


def warning(name: str, found: str, mend: str) -> Check:
    return Check(name, Verdict.WARNING, found, mend)


def bad(name: str, found: str, mend: str) -> Check:
    return Check(name, Verdict.BAD, found, mend)
