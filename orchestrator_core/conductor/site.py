"""Sites: what was found in a function, what was done about it, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Price:
    """What a piece of a program costs on a device: seconds, and bytes of temporary values."""

    seconds: float
    temp_bytes: int


@dataclass(frozen=True, slots=True)
class Site:
    """Attributes:
    rewrite: its name, as in `allow` and `deny`. source: where the user wrote it.
    found: in a few words, what it is. chosen: in which form it runs now; ``as it is`` if it was
        left alone. reason: why that form was chosen, or why it was left alone.
    before, after: the price of the site as it was and as chosen, as predicted; None if unknown.
    settings: numbers and names of the form chosen, such as tile sizes, as JSON has them: what a
        pinned plan brings back without a search (see `Goal.decided`).
    measured: seconds before and after, where it was timed.
    gains: is it a reason to change a program, or does XLA the same by itself?
    place: number of the first node of its line in the graph as it was read; None if not known.
    """

    rewrite: str
    source: str
    found: str
    chosen: str
    reason: str
    before: Price | None = None
    after: Price | None = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    measured: tuple[float, float] | None = None
    gains: bool = True
    place: int | None = field(default=None, compare=False)

    @classmethod
    def failed(cls, rewrite: str, source: str, found: str, error: Exception) -> Site:
        """Left alone, since rewriting it failed. That costs nothing but what would have been won,
        and is a mistake of ours."""
        return cls(rewrite, source, found, AS_IT_IS, f"{type(error).__name__}: {error}")

    @property
    def is_changed(self) -> bool:
        return self.chosen != AS_IT_IS

    def left(self, reason: str) -> Site:
        """The same, left alone."""
        return replace(self, chosen=AS_IT_IS, reason=reason)


AS_IT_IS = "as it is"
