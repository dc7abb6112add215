"""What a conducted function is to be: faster or smaller, how exact, and by which rewrites."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator_core.conductor.site import Site
from orchestrator_core.errors import InvalidGoal

OBJECTIVES = ("time", "memory")

PRECISIONS = ("real", "strict")
"""``real``: whatever is equal in real numbers, moving only last digits, towards the exact value.
``strict``: only the order of sums may change."""

CHECKS = ("none", "probe", "measure")
"""``probe``: on the first call outside of a trace, the values of the rewritten program are compared
with the original's. ``measure``: and so are their times."""

REWRITES = ("algebra", "recurrence", "loops", "tiling", "kernels")
"""Names for `allow` and `deny`."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Attributes:
    objective: ``time`` or ``memory``.
    memory: bytes that temporary values may take; None for no limit.
    precision: one of `PRECISIONS`.
    allow: names of the only rewrites that may be used; None for all. deny: and of those that
        may not.
    budget_s: seconds that may be spent on rewriting one function.
    always: take every rewrite that is right, whether it gains or not: for tests of what is
        recognised.
    pinned: sites of an earlier plan, whose decisions are to be taken again; None to decide anew.
    check: one of `CHECKS`; what does not pass is put back as it was.

    Raises:
        InvalidGoal: naming what is possible, if something is not.
    """

    objective: str = "time"
    memory: int | None = None
    precision: str = "real"
    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    budget_s: float = 30.0
    always: bool = False
    pinned: tuple[Site, ...] | None = None
    check: str = "none"

    def __post_init__(self) -> None:
        _one_of("objective", self.objective, OBJECTIVES)
        _one_of("precision", self.precision, PRECISIONS)
        _one_of("check", self.check, CHECKS)
        for name in sorted(self.allow or (), key=repr):
            _one_of("allow", name, REWRITES)
        for name in sorted(self.deny, key=repr):
            _one_of("deny", name, REWRITES)
        if self.memory is not None and self.memory <= 0:
            raise InvalidGoal(f"memory={self.memory!r}: expected bytes > 0, or None for no limit")
        if not (math.isfinite(self.budget_s) and self.budget_s >= 0):
            raise InvalidGoal(f"budget_s={self.budget_s!r}: expected seconds >= 0")

    @property
    def is_strict(self) -> bool:
        return self.precision == "strict"

    def permits(self, rewrite: str) -> bool:
        return rewrite not in self.deny and (self.allow is None or rewrite in self.allow)

    def decided(self, rewrite: str, source: str, found: str) -> Site | None:
        """What a pinned plan says of a site: its form and settings are to be taken as they are, if
        they are right; None if there is no such plan, or nothing in it. Sites that look the same
        are decided the same."""
        like = (rewrite, source, found)
        alike = (s for s in self.pinned or () if (s.rewrite, s.source, s.found) == like)
        return next(alike, None)


def goal_of(
    *,
    memory: int | float | str | None = None,
    precision: str = "real",
    objective: str = "time",
    allow: str | Iterable[str] | None = None,
    deny: str | Iterable[str] = (),
    budget_s: float = 30.0,
    check: str = "none",
) -> Goal:
    """The goal as people say it.

    Args:
        memory: bytes, or a text such as ``2GiB``. allow, deny: one name, or several.

    Raises:
        InvalidGoal: naming what is possible, if something is not.
    """
    return Goal(
        objective,
        None if memory is None else _bytes(memory),
        precision,
        None if allow is None else _names("allow", allow),
        _names("deny", deny),
        _seconds(budget_s),
        check=check,
    )


def _names(what: str, given: str | Iterable[str]) -> frozenset[str]:
    if not isinstance(given, Iterable):
        raise InvalidGoal(
            f"{what}={given!r}: expected a name, or several; possible: {', '.join(REWRITES)}"
        )
    return frozenset((given,) if isinstance(given, str) else given)


def _seconds(given: float) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise InvalidGoal(f"budget_s={given!r}: expected seconds >= 0") from None


UNITS = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgt", start=1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgt", start=1)},
}


def _bytes(given: int | float | str) -> int:
    """Of a number, or of a text such as ``2GiB``, ``512 MB`` or ``1e9``."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]*)\s*", str(given).lower())
    unit = UNITS.get(found[2]) if found else None
    if found is None or unit is None or found[1].count(".") > 1 or found[1] == ".":
        raise InvalidGoal(f"memory={given!r}: expected bytes, or a text such as 2GiB or 512MB")
    size = float(found[1]) * unit
    if not math.isfinite(size):
        raise InvalidGoal(f"memory={given!r}: expected bytes, or None for no limit")
    return int(size)


def _one_of(what: str, given: object, possible: tuple[str, ...]) -> None:
    if given not in possible:
        raise InvalidGoal(f"{what}={given!r} is not known; possible: {', '.join(possible)}")
