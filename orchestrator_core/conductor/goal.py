"""What a conducted function is to be: faster or smaller, how exact, and by which rewrites."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.errors import InvalidGoal

OBJECTIVES = ("time", "memory")

PRECISIONS = ("real", "strict")
"""``real``: whatever is equal in real numbers, moving only last digits, towards the exact value.
``strict``: only the order of sums may change."""


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
    """

    objective: str = "time"
    memory: int | None = None
    precision: str = "real"
    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()
    budget_s: float = 30.0
    always: bool = False

    def __post_init__(self) -> None:
        _one_of("objective", self.objective, OBJECTIVES)
        _one_of("precision", self.precision, PRECISIONS)

    @property
    def is_strict(self) -> bool:
        return self.precision == "strict"

    def permits(self, rewrite: str) -> bool:
        return rewrite not in self.deny and (self.allow is None or rewrite in self.allow)


def _one_of(what: str, given: object, possible: tuple[str, ...]) -> None:
    if given not in possible:
        raise InvalidGoal(f"{what}={given!r} is not known; possible: {', '.join(possible)}")
