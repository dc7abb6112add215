"""Lanes: spans of time side by side, in as few rows as possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span(Generic[T]):
    """A thing from `start` to `end`, in any unit of time."""

    start: float
    end: float
    thing: T


def in_lanes(spans: Iterable[Span[T]], jitter: float = 0.0) -> list[tuple[int, Span[T]]]:
    """(lane, span) in the order of their starts; in a lane nothing overlaps.

    A span that begins at most `jitter` before the lane is free begins when it is: clocks differ.
    """
    free_at: list[float] = []
    placed = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        allowed = min(jitter, 0.5 * (span.end - span.start))
        lane = next((i for i, end in enumerate(free_at) if end <= span.start + allowed), None)
        if lane is None:
            lane = len(free_at)
            free_at.append(span.start)
        start = max(span.start, free_at[lane])
        free_at[lane] = span.end
        placed.append((lane, Span(start, span.end, span.thing)))
    return placed
