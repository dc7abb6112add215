"""Terminal text as a picture: an SVG that needs no font of its own, in light and in dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from making.card import MONOSPACE, card

CELL, LINE, SIZE = 8.4, 20.0, 14.0
"""Width and height of a character, and its font's size, in units of the picture."""

MARGIN = 18.0

LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        *((36, 41, 47), (207, 34, 46), (26, 127, 55), (154, 103, 0)),
        *((9, 105, 218), (130, 80, 223), (27, 124, 131), (87, 96, 106)),
    ],
)
DARK = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        *((72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)),
        *((88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)),
    ],
)

DIM = 0.36
"""How far dim text fades into the paper."""

BLOCKS = {glyph: (0.0, 0.0, i / 8, 1.0) for i, glyph in enumerate("▏▎▍▌▋▊▉█", 1)}
"""Characters that are drawn as boxes: left, top, width, height, as parts of a cell."""

BLOCKS |= {glyph: (0.0, 1 - i / 8, 1.0, i / 8) for i, glyph in enumerate("▁▂▃▄▅▆▇", 1)}
BLOCKS |= {"▐": (0.5, 0.0, 0.5, 1.0)}

PARTS = re.compile("▐?█+[▏▎▍▌▋▊▉]?|[" + "".join(BLOCKS) + "]|[^" + "".join(BLOCKS) + "]+")
"""One box, or a text without any; whole cells beside each other are one box, without seams."""


def picture(command: str, printed: str, columns: int) -> str:
    """The command after a prompt, and what it printed (with ANSI colours), as SVG."""
    lines = _lines(command, printed, columns)
    classes: dict[tuple[str, str, bool], str] = {}
    body = [
        element
        for row, line in enumerate(lines)
        for element in _elements(line, MARGIN + row * LINE, classes)
    ]
    width = columns * CELL + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    paper = LIGHT.background_color.hex, DARK.background_color.hex
    return card(width, height, paper, _rules(classes), body, f"$ {command}", MONOSPACE)


def _lines(command: str, printed: str, columns: int) -> list[list[Segment]]:
    text = Text.assemble(("$ ", "dim"), (command, "bold"), "\n\n")
    text.append_text(Text.from_ansi(printed.strip("\n"))).rstrip()
    console = Console(width=columns, force_terminal=True, color_system="truecolor")
    return [list(Segment.simplify(line)) for line in console.render_lines(text, pad=False)]


def _elements(
    line: list[Segment], top: float, classes: dict[tuple[str, str, bool], str]
) -> Iterator[str]:
    """Boxes for block characters, text for all others; nothing for blanks."""
    left = MARGIN
    for text, style, _ in line:
        colours = _colours(style or Style())
        name = classes.setdefault(colours, f"t{len(classes)}")
        for part in PARTS.findall(text):
            if part[0] in BLOCKS:
                yield _box(part, left, top, name)
            else:
                yield from _words(part, left, top, name)
            left += CELL * len(part)


def _words(part: str, left: float, top: float, name: str) -> Iterator[str]:
    """The text in stretches without wide gaps, each as wide as its cells whatever the font."""
    for found in re.finditer(r"\S+(?: \S+)*", part):
        x, width = left + CELL * found.start(), CELL * len(found.group())
        yield (
            f'<text class="{name}" x="{x:g}" y="{top + 15:g}" textLength="{width:g}" '
            f'lengthAdjust="spacingAndGlyphs">{escape(found.group())}</text>'
        )


def _box(part: str, left: float, top: float, name: str) -> str:
    """One box over all the part's cells."""
    x, y, _, height = BLOCKS[part[0]]
    right = len(part) - 1 + BLOCKS[part[-1]][0] + BLOCKS[part[-1]][2]
    tall = LINE - 4
    return (
        f'<rect class="{name}" x="{left + x * CELL:.1f}" y="{top + 2 + y * tall:.1f}" '
        f'width="{(right - x) * CELL:.1f}" height="{height * tall:.1f}"/>'
    )


def _colours(style: Style) -> tuple[str, str, bool]:
    """The style's colour on light and on dark paper, and whether it is bold."""
    return _colour(style, LIGHT), _colour(style, DARK), bool(style.bold)


def _colour(style: Style, theme: TerminalTheme) -> str:
    ink = style.color.get_truecolor(theme) if style.color else theme.foreground_color
    if not style.dim:
        return ink.hex
    pairs = zip(ink, theme.background_color, strict=True)
    return "#" + "".join(f"{round(a + DIM * (b - a)):02x}" for a, b in pairs)


def _rules(classes: dict[tuple[str, str, bool], str]) -> tuple[list[str], list[str]]:
    """The style sheet in light, and what of it changes in dark."""
    light, dark = [], []
    for (day, night, bold), name in classes.items():
        light.append(f".{name}{{fill:{day}{';font-weight:bold' if bold else ''}}}")
        if night != day:
            dark.append(f".{name}{{fill:{night}}}")
    return light, dark
