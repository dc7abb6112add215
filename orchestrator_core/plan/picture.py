"""A schedule as a small picture for notebooks: SVG, which loads nothing and runs nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from orchestrator_core.clean_text import clean

if TYPE_CHECKING:
    from orchestrator_core.plan.schedule import Schedule

WIDTH, ROW, NAMES = 900, 20, 120
"""Of the picture, of a worker's line and of the workers' names, in pixels."""

BARS, LINES = 1_000, 40
"""Assignments and workers that are drawn at most; of more, those that begin first."""


def picture(schedule: Schedule) -> str:
    """What each worker does, and when; a bar says more when it is pointed at."""
    rows = sorted(schedule.assignments, key=lambda row: (row.start, row.task))[:BARS]
    workers = list(dict.fromkeys(schedule.worker_names[i] for i in sorted({*schedule.worker})))
    lines = {name: i for i, name in enumerate(workers[:LINES])}
    scale = (WIDTH - NAMES) / max(schedule.makespan, 1e-9)
    drawn = [
        f'<text x="0" y="{ROW * i + 14}" fill="currentColor">{_text(name[:18])}</text>'
        for name, i in lines.items()
    ]
    for row in rows:
        if row.worker not in lines:
            continue
        x, y = NAMES + scale * row.start, ROW * lines[row.worker] + 2
        wide = max(1.0, scale * (row.end - row.start) - 1)
        hue = crc32(row.task.rpartition("-")[0].encode("utf-8", "replace")) % 360
        drawn.append(
            f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{ROW - 4}" rx="2" '
            f'fill="hsl({hue} 55% 55%)"><title>{_text(row.task)}: {row.start:.6g} to '
            f"{row.end:.6g} s on {_text(row.worker)}</title></rect>"
        )
    hidden = len(schedule) - sum(1 for row in rows if row.worker in lines)
    more = f"<p>{hidden:,} more assignments are not drawn</p>" if hidden else ""
    high = ROW * len(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{high}" '
        f'font-family="sans-serif" font-size="12">{"".join(drawn)}</svg>{more}'
    )


def _text(name: str) -> str:
    return escape(clean(name))
