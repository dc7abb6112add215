"""Decisions of earlier processes, as one JSON file for each graph, goal, device and build.

What they decide is derived and proven again, so that they serve every graph that looks the same.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.planning.folder import file_for, write
from orchestrator_core.conductor.planning.text import decisions, plan_of
from orchestrator_core.conductor.site import Site
from orchestrator_core.errors import InvalidFormat

ENDING = "json"


def find(digest: str, goal: Goal) -> tuple[Site, ...] | None:
    """What was decided of this graph; None if nothing is known."""
    file = file_for(digest, goal, ENDING)
    with contextlib.suppress(OSError, InvalidFormat):
        return None if file is None else decisions(file.read_bytes()).get(digest)
    return None


def keep(digest: str, goal: Goal, sites: Sequence[Site]) -> None:
    """Remember what was decided of this graph."""
    file = file_for(digest, goal, ENDING)
    with contextlib.suppress(TypeError):
        if file is not None:
            write(file, json.dumps(plan_of("", goal, [("", digest, sites)])).encode())
