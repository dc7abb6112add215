"""Flows on the command line: by their name, and by their origin where several share a name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator_core.store.base import RunSummary, Store

COMPARED = 500
"""Newest runs of a name among which others of that name are looked for."""


def runs_of(store: Store, flow: str | None, limit: int) -> list[RunSummary]:
    """The newest runs of the flow of that name or origin; of all flows if none is given."""
    found = store.runs(flow=flow, limit=limit)
    return found if found or not flow else store.runs(origin=flow, limit=limit)


def said(lines: Iterable[RunSummary]) -> dict[tuple[str, str], str]:
    """By name and origin: what the flow is called here, with its origin where two share a name."""
    origins: dict[str, dict[str, None]] = defaultdict(dict)
    for line in lines:
        origins[line.flow][line.origin] = None
    return {
        (flow, origin): f"{flow} ({origin})" if len(seen) > 1 and origin else flow
        for flow, seen in origins.items()
        for origin in seen
    }


def others(store: Store, flow: str, origin: str) -> list[str]:
    """Origins of other flows of that name, the one that ran last first."""
    lines = store.runs(flow=flow, limit=COMPARED)
    return [
        each for each in dict.fromkeys(line.origin for line in lines) if each not in ("", origin)
    ]
