"""Explanations as plain text of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from orchestrator_core.conductor.explaining.section import Row, Section, rows_of
from orchestrator_core.conductor.explaining.summary import goal_in_words, summary
from orchestrator_core.conductor.explaining.words import SIZES, TIMES, amount, change, where
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Site

WIDTH = 100
NAME, TIME, MEMORY = 17, 16, 17
PLACE = WIDTH - 2 - NAME - 1 - TIME - MEMORY
"""Columns after a mark of two."""

LABEL = 12
"""Where what is said of a site begins."""

CHANGED, LEFT = "✓", "·"


def text_of(
    function: str, device: str, goal: Goal, reason: str, sections: Sequence[Section]
) -> str:
    """The whole explanation."""
    lines = [f"{function}   ({device}; {goal_in_words(goal)})"]
    lines += textwrap.wrap(summary(reason, sections), WIDTH)
    if any(section.sites or section.notes for section in sections):
        for section in sections:
            lines += ["", *_section(section)]
    return "\n".join(line.rstrip() for line in lines)


def _section(section: Section) -> Iterator[str]:
    decided = f"decided by {section.origin} in {amount(section.seconds, TIMES)}"
    yield f"{section.what}{decided.rjust(WIDTH - len(section.what))}"
    yield "─" * WIDTH
    for note in section.notes:
        yield from textwrap.wrap(f"! {note}", WIDTH, subsequent_indent="  ")
    if not section.sites:
        yield "  nothing was found that could be rewritten: it runs as it was"
        return
    priced = any(site.before is not None and site.after is not None for site in section.sites)
    yield _line(" ", "rewrite", "where", *(("time", "memory") if priced else ("", "")))
    for row in rows_of(section.sites):
        yield from _row(row)


def _row(row: Row) -> Iterator[str]:
    site = row.site
    name = f"{site.rewrite} × {row.count}" if row.count > 1 else site.rewrite
    yield _line(CHANGED if site.is_changed else LEFT, name, _place(site), _time(site), _size(site))
    yield from _said("found", site.found)
    if site.is_changed:
        yield from _said("now", site.chosen)
        yield from _said("why", site.reason)
    else:
        yield from _said("left", f"{site.chosen}: {site.reason}" if site.reason else site.chosen)
    if site.measured is not None:
        yield from _said("timed", change(*site.measured, TIMES))


def _said(label: str, text: str) -> list[str]:
    head = f"    {label}".ljust(LABEL)
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * LABEL)


def _place(site: Site) -> str:
    place, function = where(site.source)
    whole = f"{place} in {function}" if function else place
    return whole if len(whole) <= PLACE else f"…{whole[len(whole) - PLACE + 1 :]}"


def _time(site: Site) -> str:
    if site.before is None or site.after is None:
        return ""
    return change(site.before.seconds, site.after.seconds, TIMES)


def _size(site: Site) -> str:
    if site.before is None or site.after is None:
        return ""
    return change(site.before.temp_bytes, site.after.temp_bytes, SIZES)


def _line(mark: str, name: str, place: str, time: str, memory: str) -> str:
    left = f"{mark} {name.ljust(NAME)} {place.ljust(PLACE)}"
    return f"{left}{time.rjust(TIME)}{memory.rjust(MEMORY)}"
