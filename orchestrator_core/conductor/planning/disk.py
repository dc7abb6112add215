"""Decisions of earlier processes, as one JSON file for each graph, goal, device and build.

In the folder that ``ORCHESTRATOR_PLAN_CACHE`` names (``off`` for none), or beside what is known of
devices. Only decisions are kept, never programs: what they decide is derived and proven again.
Nothing here fails: without a folder that can be written, nothing is remembered.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from orchestrator_core.conductor.cost.current_device import this_device
from orchestrator_core.conductor.cost.device_store import folder
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.planning.text import decisions, goal_to_plain, made_with, plan_of
from orchestrator_core.conductor.site import Site
from orchestrator_core.errors import InvalidFormat

VARIABLE = "ORCHESTRATOR_PLAN_CACHE"
MOST_FILES = 2000
"""More are never kept; the oldest go first."""


def find(digest: str, goal: Goal) -> tuple[Site, ...] | None:
    """What was decided of this graph; None if nothing is known."""
    place = _folder()
    if place is None:
        return None
    with contextlib.suppress(OSError, InvalidFormat):
        return decisions((place / _name(digest, goal)).read_bytes()).get(digest)
    return None


def keep(digest: str, goal: Goal, sites: Sequence[Site]) -> None:
    """Remember what was decided of this graph."""
    place = _folder()
    if place is None:
        return
    text = json.dumps(plan_of("", goal, [("", digest, sites)]))
    with contextlib.suppress(OSError, TypeError):
        place.mkdir(parents=True, exist_ok=True)
        _make_room(place)
        with tempfile.NamedTemporaryFile("w", dir=place, delete=False) as file:
            file.write(text)
        os.replace(file.name, place / _name(digest, goal))


def _make_room(place: Path) -> None:
    files = list(place.glob("*.json"))
    if len(files) >= MOST_FILES:
        for file in sorted(files, key=lambda each: each.stat().st_mtime)[: MOST_FILES // 4]:
            file.unlink(missing_ok=True)


def _folder() -> Path | None:
    given = os.environ.get(VARIABLE)
    if given == "off":
        return None
    try:
        return Path(given) if given else folder() / "plans"
    except RuntimeError:  # nobody's home
        return None


def _name(digest: str, goal: Goal) -> str:
    about = repr((goal_to_plain(goal), made_with(), this_device(), _build()))
    return f"{digest}-{hashlib.blake2b(about.encode(), digest_size=8).hexdigest()}.json"


@functools.cache
def _build() -> str:
    """Changes with the code that decides."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    about = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.blake2b(repr(about).encode(), digest_size=8).hexdigest()
