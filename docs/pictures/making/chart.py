"""Runs as a Gantt chart in SVG: bars by worker, as the page of `orchestrator report` draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from making.card import SANS, card
from orchestrator_core.clean_text import clean

WIDTH, MARGIN, AXIS = 900.0, 20.0, 30.0
LETTER, NARROW, WIDE = 7.9, 4.6, 11.5
"""About the widths of letters of 13 units; wide enough that nothing overlaps."""

PLANNED, ACTUAL, GAP = 8.0, 17.0, 12.0
"""Heights of a row of planned bars, of actual bars, and between two workers."""

KINDS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e0ac2b", "#2a9d8f", "#9d755d", "#d67195")
OTHER = "#8c8c8c"
LONGEST = 24
"""Letters of a worker's name that are shown."""

PAPER = "#ffffff", "#0d1117"
LIGHT = (
    "text{font-size:13px}.ink{fill:#1f2328}.soft{fill:#59636e}.bold{font-weight:600}"
    ".good{fill:#1a7f37;font-weight:600}.line{stroke:#d8dee4}.end{stroke:#59636e}"
    ".best{stroke:#1a7f37}.pale{opacity:.45}.path{fill:none;stroke:#d1242f;stroke-width:1.6}"
)
DARK = (
    ".ink{fill:#e6edf3}.soft{fill:#9198a1}.good{fill:#3fb950}.line{stroke:#2a313c}"
    ".end{stroke:#9198a1}.best{stroke:#3fb950}.pale{opacity:.55}.path{stroke:#ff7b72}"
)


@dataclass(frozen=True)
class Panel:
    """One run of the chart.

    Attributes:
        data: what `orchestrator_core.report.gantt.gantt_data` says of the run.
        headline, remark: above its bars; the second is softer.
        planned, marks: show the planned bars; show the forecast and the bound.
        path: frame the tasks of the critical path.
    """

    data: dict[str, Any]
    headline: str
    remark: str
    planned: bool = False
    marks: bool = False
    path: bool = False


WORD = 135
"""Room for the word beside a forecast, in bold."""


class Chart:
    """Panels above each other, on one axis of time and with one legend."""

    def __init__(self, panels: Sequence[Panel]) -> None:
        self._panels = panels
        names = [str(name) for panel in panels for name, _ in panel.data["workers"]]
        self._left: float = MARGIN + max(_width(_cut(name)) for name in names) + 12
        self._kinds = list(dict.fromkeys(k for panel in panels for k in panel.data["kinds"]))
        ends = [bar[5] for panel in panels for bar in self._bars(panel)]
        room = WIDTH - MARGIN - self._left
        marks = [panel.data["predicted"] * room / (room - WORD) for panel in panels if panel.marks]
        self._end: float = max([*(1.02 * end for end in ends), *marks, 1e-9])

    def svg(self, title: str) -> str:
        """The document; `title` says the same in words."""
        body, y = [], MARGIN
        for panel in self._panels:
            y, elements = self._panel(panel, y)
            body += elements
        legend = list(self._legend(y + 4))
        height = float(legend[-1].split('y="')[1].split('"')[0]) + MARGIN
        return card(WIDTH, height, PAPER, ([LIGHT], [DARK]), [*body, *legend], title, SANS)

    def _bars(self, panel: Panel) -> list[list[float]]:
        return [*panel.data["actual"], *(panel.data["planned"] if panel.planned else [])]

    def _x(self, seconds: float) -> float:
        return self._left + seconds / self._end * (WIDTH - MARGIN - self._left)

    def _panel(self, panel: Panel, y: float) -> tuple[float, list[str]]:
        """Where the next one begins, and what is drawn."""
        head = [
            f'<text x="{MARGIN:g}" y="{y + 12:g}" class="ink bold">{escape(panel.headline)}'
            f'<tspan class="soft" font-weight="400" dx="10">{escape(panel.remark)}</tspan></text>'
        ]
        top = y + (42 if panel.marks else 24)
        bottom = top
        rows: list[str] = []
        for place, (name, _) in enumerate(panel.data["workers"]):
            rows += self._worker(panel, place, str(name), bottom)
            bottom += self._height(panel, place) + GAP
        lines = list(self._axis(top - 4, bottom - GAP + 4))
        marks = list(self._marks(panel, top - 6, bottom - GAP + 4)) if panel.marks else []
        return bottom - GAP + AXIS + 8, [*head, *lines, *rows, *marks]

    def _height(self, panel: Panel, place: int) -> float:
        actual = self._rows(panel.data["actual"], place) * ACTUAL
        if not panel.planned:
            return actual
        return actual + self._rows(panel.data["planned"], place) * PLANNED

    def _rows(self, bars: list[list[float]], place: int) -> int:
        return 1 + max((int(bar[3]) for bar in bars if bar[2] == place), default=0)

    def _worker(self, panel: Panel, place: int, name: str, top: float) -> Iterator[str]:
        middle = top + self._height(panel, place) / 2 + 4.5
        yield f'<text x="{MARGIN:g}" y="{middle:g}" class="ink">{escape(_cut(name))}</text>'
        if panel.planned:
            for bar in panel.data["planned"]:
                if bar[2] == place:
                    yield self._box(panel, bar, top + bar[3] * PLANNED, PLANNED - 1.5, "pale")
            top += self._rows(panel.data["planned"], place) * PLANNED
        for bar in panel.data["actual"]:
            if bar[2] == place:
                yield self._box(panel, bar, top + bar[3] * ACTUAL, ACTUAL - 1.5)
                if bar[6] and panel.path:
                    yield self._frame(bar, top + bar[3] * ACTUAL)

    def _box(self, panel: Panel, bar: list[float], y: float, height: float, style: str = "") -> str:
        left, right = self._x(bar[4]), self._x(bar[5])
        width = max(0.8, right - left - (1 if right - left > 3 else 0))
        kind = self._kinds.index(panel.data["kinds"][int(bar[1])])
        look = f' class="{style}"' if style else ""
        return (
            f'<rect{look} fill="{self._colour(kind)}" x="{left:.1f}" y="{y:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}"/>'
        )

    def _frame(self, bar: list[float], y: float) -> str:
        left, width = self._x(bar[4]) + 0.8, self._x(bar[5]) - self._x(bar[4]) - 2.6
        return (
            f'<rect class="path" x="{left:.1f}" y="{y + 0.8:.1f}" '
            f'width="{max(0.5, width):.1f}" height="{ACTUAL - 3.1:.1f}"/>'
        )

    def _axis(self, top: float, bottom: float) -> Iterator[str]:
        step = next(s for s in _steps() if self._end / s <= 9)
        for i in range(int(self._end / step) + 1):
            x = self._x(i * step)
            yield f'<path class="line" d="M{x:.1f} {top:g}V{bottom:g}"/>'
            yield (
                f'<text x="{x:.1f}" y="{bottom + 16:g}" class="soft" '
                f'text-anchor="middle">{i * step:g} s</text>'
            )

    def _marks(self, panel: Panel, top: float, bottom: float) -> Iterator[str]:
        """The forecast, its word to the right of its line; the bound's to the left."""
        for value, style, word, text in (
            (panel.data["bound"], "best", "good", "no plan can beat "),
            (panel.data["predicted"], "end", "soft bold", "predicted "),
        ):
            x = self._x(value)
            dash = "2 3" if style == "best" else "6 4"
            yield (
                f'<path class="{style}" stroke-width="1.6" stroke-dasharray="{dash}" '
                f'd="M{x:.1f} {top:g}V{bottom:g}"/>'
            )
            side, shift = ("end", -4) if style == "best" else ("start", 4)
            yield (
                f'<text x="{x + shift:.1f}" y="{top - 5:g}" class="{word}" '
                f'text-anchor="{side}">{text}{value:.1f} s</text>'
            )

    def _legend(self, y: float) -> Iterator[str]:
        x = MARGIN
        for colour, style, text in self._entries():
            width = 17 + _width(text) + 16
            if x + width - 16 > WIDTH - MARGIN and x > MARGIN:
                x, y = MARGIN, y + 20
            tall, low = (7, 3) if style == "pale" else (11, 0)
            yield (
                f'<rect class="{style}" fill="{colour}" x="{x:.1f}" y="{y + low:g}" width="11" '
                f'height="{tall}" rx="2"/><text x="{x + 17:.1f}" y="{y + 10:g}" '
                f'class="soft">{escape(text)}</text>'
            )
            x += width

    def _entries(self) -> Iterator[tuple[str, str, str]]:
        """Colour, style and word of each entry."""
        for i, kind in enumerate(self._kinds[: len(KINDS)]):
            yield self._colour(i), "", clean(kind)
        if len(self._kinds) > len(KINDS):
            yield OTHER, "", "others"
        if any(panel.planned for panel in self._panels):
            yield KINDS[0], "pale", "planned"
            yield KINDS[0], "", "actual"
        if any(panel.path for panel in self._panels):
            yield "none", "path", "critical path"

    def _colour(self, kind: int) -> str:
        return KINDS[kind] if kind < len(KINDS) else OTHER


def _cut(name: str) -> str:
    name = clean(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _width(text: str) -> float:
    """About how wide the text is."""
    return sum(
        NARROW if letter in "ijlftr.,:'|() " else WIDE if letter in "mwMW" else LETTER
        for letter in text
    )


def _steps() -> Iterator[float]:
    """1, 2, 5, 10, ... from a thousandth of a second on."""
    power = 1e-3
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10
