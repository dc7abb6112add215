"""Explanations for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from orchestrator_core.conductor.explaining.section import Row, Section, rows_of
from orchestrator_core.conductor.explaining.summary import goal_in_words, summary
from orchestrator_core.conductor.explaining.words import SIZES, TIMES, change, where
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Site

HEADS = ("", "rewrite", "where", "found", "how it runs now", "time", "memory", "why")


def html_of(
    function: str, device: str, goal: Goal, reason: str, sections: Sequence[Section]
) -> str:
    """The whole explanation; whatever comes from the user's program is escaped."""
    about = escape(f"{device}; {goal_in_words(goal)}")
    parts = [f"<p><b>{escape(function)}</b> ({about})<br>{escape(summary(reason, sections))}</p>"]
    for section in sections:
        parts += _section(section)
    return "".join(parts)


def _section(section: Section) -> Iterator[str]:
    yield f"<p><b>{escape(section.what)}</b>, decided by {escape(section.origin)}</p>"
    for note in section.notes:
        yield f"<p>{escape(note)}</p>"
    if not section.sites:
        return
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    rows = "".join(map(_row, rows_of(section.sites)))
    yield f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _row(row: Row) -> str:
    site = row.site
    times = f"{site.rewrite} × {row.count}" if row.count > 1 else site.rewrite
    mark = "✓" if site.is_changed else "·"
    place = " ".join(each for each in where(site.source) if each)
    cells = (mark, times, place, site.found, site.chosen, *_prices(site), site.reason)
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _prices(site: Site) -> tuple[str, str]:
    if site.before is None or site.after is None:
        return "", ""
    time = change(site.before.seconds, site.after.seconds, TIMES)
    if site.measured is not None:
        time += f"; timed {change(*site.measured, TIMES)}"
    return time, change(site.before.temp_bytes, site.after.temp_bytes, SIZES)
