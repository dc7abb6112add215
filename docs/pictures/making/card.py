"""The paper of all pictures: rounded, framed, light or dark as the reader's page is."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

MONOSPACE = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"

FRAME = "#d0d7de", "#30363d"
"""In light and in dark."""


def card(
    width: float,
    height: float,
    paper: tuple[str, str],
    rules: tuple[list[str], list[str]],
    body: Iterable[str],
    title: str,
    font: str,
) -> str:
    """An SVG document; `paper` and `rules` in light and in dark, `title` for who cannot see it."""
    light = [f"text{{font:14px {font};white-space:pre}}"]
    light += [f".paper{{fill:{paper[0]};stroke:{FRAME[0]}}}", *rules[0]]
    dark = [f".paper{{fill:{paper[1]};stroke:{FRAME[1]}}}", *rules[1]]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{''.join(light)}@media(prefers-color-scheme:dark){{{''.join(dark)}}}</style>",
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1:g}" '
            f'height="{height - 1:g}" rx="8"/>',
            *body,
            "</svg>",
            "",
        ]
    )
