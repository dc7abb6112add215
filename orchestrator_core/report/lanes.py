"""Lanes: spans of time side by side, in as few rows as possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
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
    for span in sorted(spans, key=attrgetter("start", "end")):
        start = span.start
        by = start + min(jitter, 0.5 * (span.end - start)) if jitter else start
        lane = 0
        for end in free_at:
            if end <= by:
                break
            lane += 1
        else:
            free_at.append(start)
        if free_at[lane] > start:
            span = Span(free_at[lane], span.end, span.thing)
        free_at[lane] = span.end
        placed.append((lane, span))
    return placed
