"""Planning one program: by a pinned plan, by what is remembered, or anew."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator_core.conductor import _jax, rewriting
from orchestrator_core.conductor.cost import peak
from orchestrator_core.conductor.cost.calibrate import ready
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.fingerprint import fingerprint
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.seldom import collecting_seldom
from orchestrator_core.conductor.ir.signature import signature
from orchestrator_core.conductor.planning import disk
from orchestrator_core.conductor.planning.kept import Kept, place_for
from orchestrator_core.conductor.planning.memory import MEMORY
from orchestrator_core.conductor.planning.places import found_again, placed
from orchestrator_core.conductor.planning.planned import Planned
from orchestrator_core.conductor.rewrite import SPENT
from orchestrator_core.conductor.site import Site

Pins = Mapping[str, tuple[Site, ...]]
"""Sites of a pinned plan, by the signatures of its graphs."""

BY_REWRITES, BY_DISK, BY_PINS = "the rewrites", "the plan cache", "the pinned plan"

WORTH_MEMORY_S = 0.02
WORTH_DISK_S = 0.1
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
            return _rewritten(graph, goal, digest, self.pins[digest], BY_PINS, start)
        planned = _remembered(jaxpr, goal, start)
        return dataclasses.replace(planned, notes=(*planned.notes, NOT_IN_PLAN))


def _remembered(jaxpr: Any, goal: Goal, start: float) -> Planned:
    """What the process knows, else what others have left it; else it is decided."""
    rewrites, device, trace = tuple(rewriting.REWRITES.items()), ready(), fingerprint(jaxpr)
    key = (trace, goal, _jax.trace_context(), rewrites, device)
    found = MEMORY.find(key)
    if found is not None:
        return found
    kept = place_for(trace, goal, rewrites, device)
    planned = _as_kept(jaxpr, goal, kept, start) or _decided(read(jaxpr), goal, kept, start)
    if planned.kept is not None or planned.seconds >= WORTH_MEMORY_S:
        MEMORY.keep(key, trace.held, planned)
    return planned


def _as_kept(jaxpr: Any, goal: Goal, kept: Kept | None, start: float) -> Planned | None:
    """As another process has left it. The graph is derived if anybody asks for it."""
    if kept is None or not kept.read():
        return None

    @functools.cache
    def derive() -> Graph:
        return rewriting.rewritten(read(jaxpr), dataclasses.replace(goal, pinned=kept.sites))[0]

    taken = time.perf_counter() - start
    return Planned(derive, kept.sites, kept.signature, BY_DISK, taken, kept=kept)


def _decided(graph: Graph, goal: Goal, kept: Kept | None, start: float) -> Planned:
    digest = signature(graph)
    known = disk.find(digest, goal)
    origin = BY_REWRITES if known is None else BY_DISK
    planned = _rewritten(graph, goal, digest, known, origin, start)
    # What a busy machine had no time for, the next process may have.
    is_spent = any(site.reason == SPENT for site in planned.sites)
    if planned.seconds < WORTH_DISK_S or is_spent:
        return planned
    if known is None:
        disk.keep(digest, goal, planned.sites)
    if kept is None or planned.notes:
        return planned
    kept.signature, kept.sites = digest, planned.sites
    if not planned.is_changed:
        kept.write()
    return dataclasses.replace(planned, kept=kept)


def _rewritten(
    graph: Graph,
    goal: Goal,
    digest: str,
    pinned: tuple[Site, ...] | None,
    origin: str,
    start: float,
) -> Planned:
    if pinned is not None:
        pinned = found_again(pinned, graph)
        goal = dataclasses.replace(goal, pinned=pinned)
    after, sites = rewriting.rewritten(graph, goal)
    notes = () if pinned is None else tuple(_deviations(pinned, sites))
    notes += tuple(_unmet(after, goal))
    taken = time.perf_counter() - start
    return Planned(lambda: after, placed(sites, graph), digest, origin, taken, notes)


def _unmet(graph: Graph, goal: Goal) -> Iterator[str]:
    """What to say where the program takes more memory than the goal allows."""
    if goal.memory is not None and (foretold := peak(graph)) > goal.memory:
        yield (
            f"the limit is not met: temporary values should take {foretold:,} bytes, and may take "
            f"{goal.memory:,}"
        )


def _deviations(pinned: tuple[Site, ...], sites: list[Site]) -> list[str]:
    """What was decided otherwise than the plan says."""
    known = {(site.rewrite, site.source, site.found): site.chosen for site in pinned}
    return [
        f"{site.rewrite} at {site.source or 'no known line'}: the plan says {said!r}, "
        f"it runs {site.chosen!r}: {site.reason}"
        for site in sites
        if (said := known.get((site.rewrite, site.source, site.found), site.chosen)) != site.chosen
    ]
