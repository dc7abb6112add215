"""Tables that fit the terminal: one column is cut, then the least important are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from orchestrator_core.cli.console import clean, remark, results

Cell = str | Text
GUTTER = 2
NARROWEST = 10
"""Width down to which an elastic column may be cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a column looks, and what becomes of it where there is little room.

    Attributes:
        right: are its cells justified to the right?
        elastic: may its cells be cut? At most one column of a table.
        spare: the column with the largest is left out first; 0 always stays.
    """

    heading: str
    right: bool = False
    elastic: bool = False
    spare: int = 0


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], empty: str) -> None:
    """A table on stdout; or the sentence `empty` on stderr if there are no rows."""
    if not rows:
        remark(empty)
        return
    console = results()
    console.print(make_table(columns, rows, console.width))


def make_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int) -> Table:
    """The table in so many cells of a terminal; a `str` is cleaned, a `Text` taken as it is."""
    cells = [
        [cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows
    ]
    widths = [
        max(cell_len(text) for text in (column.heading, *(row[i].plain for row in cells)))
        for i, column in enumerate(columns)
    ]
    kept = _choose(columns, widths, width)
    table = Table(box=None, pad_edge=False, padding=(0, GUTTER, 0, 0), header_style="bold")
    for i in kept:
        table.add_column(
            columns[i].heading,
            justify="right" if columns[i].right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=_room(i, columns, widths, kept, width),
        )
    for row in cells:
        table.add_row(*(row[i] for i in kept))
    return table


def _choose(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """The columns that stay."""
    kept = list(range(len(columns)))
    while True:
        least = sum(min(widths[i], NARROWEST) if columns[i].elastic else widths[i] for i in kept)
        first = max(kept, key=lambda i: columns[i].spare)
        if least + GUTTER * len(kept) <= width or not columns[first].spare:
            return kept
        kept.remove(first)


def _room(
    i: int, columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int], width: int
) -> int:
    """The width of a column: what it needs, or for an elastic one what the others leave."""
    if not columns[i].elastic:
        return widths[i]
    others = sum(widths[j] for j in kept if j != i) + GUTTER * len(kept)
    return max(min(widths[i], NARROWEST), min(widths[i], width - others))
