"""Skews: values whose element in row ``i`` and column ``j`` is another's in column ``i - j``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator_core.conductor.facts.lines.view import Line, Step, View, Whole

MOST = 3
"""Pieces of a skew: more are made of rows much shorter than what they are cut into."""


@dataclass(frozen=True)
class Skew:
    """Element ``(i, j)`` is that in row ``i + down`` and column ``turn * i + step * j + first``,
    and zero where there is no such element.

    Attributes:
        turn, step: 1 or -1. rows, columns: how many there are of both. count: columns of the other.
        height: rows of the other.
    """

    turn: int
    step: int
    first: int
    down: int
    rows: int
    columns: int
    count: int
    height: int

    @property
    def begin(self) -> int:
        """The first row for which the other has one."""
        return max(-self.down, 0)

    @property
    def end(self) -> int:
        return min(self.rows, self.height - self.down)

    @property
    def least(self) -> int:
        """The first column of the other that is asked for, there or not."""
        ends = ((self.turn, self.rows), (self.step, self.columns))
        return self.first + sum(min(sign * (size - 1), 0) for sign, size in ends)

    @property
    def width(self) -> int:
        """How many are asked for."""
        return self.rows + self.columns - 1

    @property
    def is_total(self) -> bool:
        """Are all elements there?"""
        has_columns = self.least >= 0 and self.least + self.width <= self.count
        return has_columns and (self.begin, self.end) == (0, self.rows)

    @property
    def is_empty(self) -> bool:
        """Has none of its rows anything?"""
        if self.begin >= self.end:
            return True
        rows = [self.turn * row for row in (self.begin, self.end - 1)]
        columns = [self.step * column for column in (0, self.columns - 1)]
        least, last = min(rows) + min(columns), max(rows) + max(columns)
        return self.first + least >= self.count or self.first + last < 0

    @property
    def back(self) -> Skew:
        """The other's rows and columns in terms of this one's: element ``(i, j)`` of the other is
        here in row ``i - down``."""
        first = self.step * (self.turn * self.down - self.first)
        turn, rows, columns = -self.step * self.turn, self.height, self.count
        return Skew(turn, self.step, first, -self.down, rows, columns, self.columns, self.rows)


@dataclass(frozen=True)
class Skewed:
    """A view that is the sum of skews of two axes of a value.

    Attributes:
        rows, columns: axes of the value that is skewed. out_rows, out_columns: of the view.
        pieces: no two of which have something in one place.
    """

    rows: int
    columns: int
    out_rows: int
    out_columns: int
    pieces: tuple[Skew, ...]


def skewed(view: View) -> Skewed | None:
    """What a view is, if that is what it is."""
    line, steps = view.line, view.steps
    whole = [axis for axis in view.axes if isinstance(axis, Whole)]
    if line is None or len(steps) != 2 or not all(axis.is_as_it_is for axis in whole):
        return None
    if view.number not in (None, 0):
        return None
    for (i, rows), (j, columns) in (steps, steps[::-1]):
        if abs(rows.step - line.width) == 1 and abs(columns.step) == 1:
            pieces = tuple(_pieces(line, view.first, rows, columns))
            is_one = 0 < len(pieces) <= MOST
            return Skewed(line.rows, line.columns, i, j, pieces) if is_one else None
    return None


def _pieces(line: Line, first: int, rows: Step, columns: Step) -> Iterator[Skew]:
    """One for each row, counted from a view's own, into which its elements reach."""
    turn, whole = rows.step - line.width, first - line.low
    ends = ((turn, rows.size), (columns.step, columns.size))
    least = whole + sum(min(sign * (size - 1), 0) for sign, size in ends)
    last = least + rows.size + columns.size - 2
    for down in range(least // line.width, last // line.width + 1):
        place = whole - down * line.width
        sizes = (rows.size, columns.size, line.count, line.height)
        made = Skew(turn, columns.step, place, down, *sizes)
        if not made.is_empty:
            yield made
