"""Where the elements of a view stand in the value that it is a view of.

Two axes of a value, laid end to end, are a line. Padded, cut into rows of another length, and cut
out again, the elements of a view still stand along that line in equal steps: so are the scores of
distances turned into those of positions by Huang and others, "Music Transformer" (2018), and Dai
and others, "Transformer-XL" (2019). What lies beyond either end of the line, and between its rows,
is one number, mostly zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Whole:
    """An axis of the value as it is, with so many elements more before and after it; less than
    none: it is cut."""

    axis: int
    count: int
    low: int = 0
    high: int = 0

    @property
    def size(self) -> int:
        return self.low + self.count + self.high

    @property
    def is_as_it_is(self) -> bool:
        return self.low == self.high == 0


@dataclass(frozen=True)
class Step:
    """An axis of the view along the line, from one element to the next by so many places."""

    size: int
    step: int


ViewAxis: TypeAlias = Whole | Step | None
"""None: of one element."""


@dataclass(frozen=True)
class Line:
    """Rows of a value, end to end.

    Attributes:
        rows, columns: axes of the value. height: how many rows.
        width: places of a row, of which `count` from `low` on are the value's.
    """

    rows: int
    columns: int
    height: int
    width: int
    low: int
    count: int

    @property
    def last(self) -> int:
        """After the last of its elements."""
        return (self.height - 1) * self.width + self.low + self.count


@dataclass(frozen=True)
class View:
    """Attributes:
    axes: of the view. line: None if none was laid yet. first: where the first element is on it.
    number: what all elements are that are not the value's; None if there never were any.
    """

    axes: tuple[ViewAxis, ...]
    line: Line | None = None
    first: int = 0
    number: Any = None

    @property
    def steps(self) -> list[tuple[int, Step]]:
        """The axes along the line, by number."""
        return [(k, axis) for k, axis in enumerate(self.axes) if isinstance(axis, Step)]


def itself(shape: tuple[int, ...]) -> View:
    """A value as a view of itself."""
    return View(tuple(None if size == 1 else Whole(k, size) for k, size in enumerate(shape)))
