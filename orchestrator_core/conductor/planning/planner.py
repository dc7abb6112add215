"""Planning one program: by a pinned plan, by what is remembered, or anew."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from orchestrator_core.conductor import _jax, rewriting
from orchestrator_core.conductor.cost.calibrate import ready
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.fingerprint import fingerprint
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.seldom import collecting_seldom
from orchestrator_core.conductor.ir.signature import signature
from orchestrator_core.conductor.planning import disk
from orchestrator_core.conductor.planning.memory import MEMORY
from orchestrator_core.conductor.planning.planned import Planned
from orchestrator_core.conductor.site import Site

Pins = Mapping[str, tuple[Site, ...]]
"""Sites of a pinned plan, by the signatures of its graphs."""

WORTH_MEMORY_S = 0.02
WORTH_DISK_S = 0.5
"""Seconds of planning from which on its result is remembered."""

NOT_IN_PLAN = "the pinned plan is of another function, or of other shapes or types: planned anew"


class Planner:
    """Args: pins: decisions to take again; None to decide anew."""

    def __init__(self, pins: Pins | None = None) -> None:
        self.pins = pins

    def plan(self, jaxpr: Any, goal: Goal) -> Planned:
        """What becomes of a closed jaxpr. It is read into a graph only if this process does not
        know yet what it becomes."""
        with collecting_seldom():
            return self._planned(jaxpr, goal)

    def _planned(self, jaxpr: Any, goal: Goal) -> Planned:
        start = time.perf_counter()
        if self.pins is None:
            return _remembered(jaxpr, goal, start)
        graph = read(jaxpr)
        digest = signature(graph)
        if digest in self.pins:
            return _rewritten(graph, goal, digest, self.pins[digest], "the pinned plan", start)
        planned = _remembered(jaxpr, goal, start)
        return dataclasses.replace(planned, notes=(*planned.notes, NOT_IN_PLAN))


def _remembered(jaxpr: Any, goal: Goal, start: float) -> Planned:
    """What the process knows, else the plan cache; else it is decided."""
    rewrites = tuple(rewriting.REWRITES.items())
    key = (fingerprint(jaxpr), goal, _jax.trace_context(), rewrites, ready())
    return MEMORY.find(key) or _decided(read(jaxpr), goal, key, start)


def _decided(graph: Graph, goal: Goal, key: Any, start: float) -> Planned:
    digest = signature(graph)
    known = disk.find(digest, goal)
    origin = "the rewrites" if known is None else "the plan cache"
    planned = _rewritten(graph, goal, digest, known, origin, start)
    if planned.seconds >= WORTH_MEMORY_S:
        MEMORY.keep(key, graph, planned)
    if known is None and planned.seconds >= WORTH_DISK_S:
        disk.keep(digest, goal, planned.sites)
    return planned


def _rewritten(
    graph: Graph,
    goal: Goal,
    digest: str,
    pinned: tuple[Site, ...] | None,
    origin: str,
    start: float,
) -> Planned:
    if pinned is not None:
        goal = dataclasses.replace(goal, pinned=pinned)
    after, sites = rewriting.rewritten(graph, goal)
    notes = () if pinned is None else tuple(_deviations(pinned, sites))
    return Planned(after, tuple(sites), digest, origin, time.perf_counter() - start, notes)


def _deviations(pinned: tuple[Site, ...], sites: list[Site]) -> list[str]:
    """What was decided otherwise than the plan says."""
    known = {(site.rewrite, site.source, site.found): site.chosen for site in pinned}
    return [
        f"{site.rewrite} at {site.source or 'no known line'}: the plan says {said!r}, "
        f"it runs {site.chosen!r}: {site.reason}"
        for site in sites
        if (said := known.get((site.rewrite, site.source, site.found), site.chosen)) != site.chosen
    ]
