"""A schedule as a chart of characters: a line for each thread of each worker, coloured by kind.

A cell is as full as its stretch of time is busy, and the last cell of a task leaves a thin gap, so
that the chart can be read without colours too. Where there are more threads than lines, a line is a
worker, and the height of a cell says how many of its threads are busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from orchestrator_core.cli.console import clean
from orchestrator_core.cli.lanes import Piece, WorkerUse
from orchestrator_core.words import plural, seconds

MOST_LINES = 32
"""Lines of the chart; workers beyond are counted, the busiest are shown."""

COLOURS = ("color(75)", "color(215)", "color(114)", "color(176)", "color(221)", "color(167)")
"""For the six kinds with the most work; light and dark terminals show them alike."""

OTHER_COLOUR = "color(245)"
LONGEST_NAME = 18
LONGEST_KIND = 40
BETWEEN = "   "
"""Stands between two entries of the legend."""

_FROM_LEFT = " ▏▎▍▌▋▊▉█"
_FROM_BELOW = " ▁▂▃▄▅▆▇█"


class Palette:
    """Colours of kinds: the most work gets a colour of its own."""

    def __init__(self, kinds: Sequence[str], uses: Sequence[WorkerUse]) -> None:
        self._kinds = kinds
        work: dict[int, float] = {}
        for use in uses:
            for lane in use.lanes:
                for piece in lane:
                    work[piece.kind] = work.get(piece.kind, 0.0) + piece.end - piece.start
        self._order = [kind for kind, _ in sorted(work.items(), key=lambda row: (-row[1], row[0]))]
        self._colour = dict(zip(self._order, COLOURS, strict=False))

    def colour(self, kind: int) -> str:
        return self._colour.get(kind, OTHER_COLOUR)

    def legend(self, width: int) -> Text:
        """The kinds with their colours, in lines of at most so many cells; none is torn."""
        lines = [Text()]
        for entry in self._entries():
            if lines[-1] and lines[-1].cell_len + len(BETWEEN) + entry.cell_len > width:
                lines.append(Text())
            lines[-1].append(BETWEEN if lines[-1] else "").append_text(entry)
        return Text("\n").join(lines)

    def _entries(self) -> Iterator[Text]:
        for kind in self._order[: len(COLOURS)]:
            yield Text.assemble(("■ ", self.colour(kind)), cut(self._kinds[kind], LONGEST_KIND))
        others = len(self._order) - len(COLOURS)
        if others > 0:
            yield Text.assemble(("■ ", OTHER_COLOUR), (plural(others, "more kind"), "dim"))


def draw(
    uses: Sequence[WorkerUse],
    palette: Palette,
    makespan: float,
    bound: float,
    width: int,
    since: str = "",
) -> list[Text]:
    """The lines of the chart: lanes, axis, and where the lower bound lies; `since` says what its
    zero is, where that is not clear."""
    shown, hidden = _choose(uses)
    by_thread = sum(max(1, len(use.lanes)) for use in shown) <= MOST_LINES
    margin = margin_of(shown)
    cells = max(10, width - margin - 2)
    lines = []
    for use in shown:
        lanes = use.lanes if by_thread else ()
        bodies = [_lane(lane, palette, makespan, cells) for lane in lanes]
        bodies = bodies or [_heights(use, palette, makespan, cells)]
        for row, body in enumerate(bodies):
            label = _label(use.name if row == 0 else "", margin)
            lines.append(Text.assemble((label, "bold"), ("│", "dim"), body))
    if hidden:
        lines.append(Text(f"{'':{margin}}and {hidden} more workers", "dim"))
    return [*lines, *_axis(makespan, bound, margin, cells, since)]


def _choose(uses: Sequence[WorkerUse]) -> tuple[list[WorkerUse], int]:
    """The workers that are shown, in their order, and how many are not."""
    if len(uses) <= MOST_LINES:
        return list(uses), 0
    busiest = sorted(range(len(uses)), key=lambda i: (-uses[i].busy, i))[: MOST_LINES - 1]
    return [uses[i] for i in sorted(busiest)], len(uses) - len(busiest)


def margin_of(uses: Iterable[WorkerUse]) -> int:
    """Cells for the names of the workers, and the one after them."""
    return min(LONGEST_NAME, max((cell_len(clean(use.name)) for use in uses), default=0)) + 1


def cut(name: str, cells: int) -> str:
    """The name in at most so many cells; other scripts take two for a character."""
    name = clean(name)
    return name if cell_len(name) <= cells else f"{set_cell_size(name, cells - 1).rstrip()}…"


def _label(name: str, margin: int) -> str:
    return set_cell_size(cut(name, margin - 1), margin)


def _lane(lane: Sequence[Piece], palette: Palette, makespan: float, cells: int) -> Text:
    """One thread: blocks in the colour of what fills most of the cell."""
    step = makespan / cells if makespan > 0 else 1.0
    busy, leader, breaks = _fill(lane, step, cells)
    line = Text()
    for cell, share in enumerate(busy):
        if share <= 0.02:
            line.append(" ")
            continue
        starts_late = share < 0.75 and (cell == 0 or busy[cell - 1] <= 0.02)
        continues = cell + 1 < cells and busy[cell + 1] > 0.02
        if starts_late and continues and cell not in breaks:
            glyph = "▐"
        elif share > 0.93 and cell not in breaks:
            glyph = "█"
        else:
            glyph = _FROM_LEFT[min(7, max(1, round(8 * share)))]
        line.append(glyph, palette.colour(leader[cell]))
    return line


def _fill(
    lane: Sequence[Piece], step: float, cells: int
) -> tuple[list[float], list[int], frozenset[int]]:
    """Of each cell the busy share and the kind with most of it; and the cells where tasks end."""
    busy = [0.0] * cells
    most = [0.0] * cells
    leader = [0] * cells
    ends = set()
    for piece in lane:
        first = min(cells - 1, int(piece.start / step))
        last = min(cells - 1, max(first, _last_cell(piece.end / step)))
        for cell in range(first, last + 1):
            overlap = min(piece.end, (cell + 1) * step) - max(piece.start, cell * step)
            share = max(0.0, overlap) / step
            busy[cell] += share
            if share >= most[cell]:
                most[cell], leader[cell] = share, piece.kind
        ends.add(last)
    return busy, leader, frozenset(ends)


def _last_cell(position: float) -> int:
    """The cell in which something ends that ends exactly at a border: the one before it."""
    cell = int(position)
    return cell - 1 if position - cell < 1e-6 else cell


def _heights(use: WorkerUse, palette: Palette, makespan: float, cells: int) -> Text:
    """All threads of a worker in one line: height is how many are busy."""
    step = makespan / cells if makespan > 0 else 1.0
    total, most, leader = [0.0] * cells, [0.0] * cells, [0] * cells
    for lane in use.lanes:
        busy, kinds, _ = _fill(lane, step, cells)
        for cell, share in enumerate(busy):
            total[cell] += share
            if share > most[cell]:
                most[cell], leader[cell] = share, kinds[cell]
    line = Text()
    for cell, threads in enumerate(total):
        level = round(8 * threads / use.threads)
        glyph = _FROM_BELOW[min(8, max(level, 1 if threads > 0.02 else 0))]
        line.append(glyph, palette.colour(leader[cell]))
    return line


def _axis(makespan: float, bound: float, margin: int, cells: int, since: str) -> list[Text]:
    """The time axis: both ends, the quarters, and the lower bound."""
    marks = [round(cells * quarter / 4) for quarter in range(5)]
    rule = Text(" " * margin + "└", "dim")
    rule.append("".join("┴" if cell in marks[1:] else "─" for cell in range(1, cells + 1)), "dim")
    labels = [" "] * (margin + cells + 12)
    for mark, quarter in zip(marks, range(5), strict=True):
        text = seconds(makespan * quarter / 4)
        at = (
            margin
            + mark
            - (0 if quarter == 0 else len(text) // 2 if quarter < 4 else len(text) - 1)
        )
        labels[at : at + len(text)] = text
    lines = [rule, Text("".join(labels).rstrip(), "dim")]
    if makespan > 0 and 0 < bound <= makespan:
        at = margin + round(cells * bound / makespan)
        text = f"no plan ends before {seconds(bound)}{since} ▲"
        lines.append(Text(f"{text:>{at + 1}}" if len(text) <= at else f"{'':{at}}▲ bound", "green"))
    return lines
