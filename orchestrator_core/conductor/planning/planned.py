"""What was decided about one graph."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.site import Site


@dataclass(frozen=True, slots=True)
class Planned:
    """Attributes:
    graph: as it is to run. sites: what was found in it.
    signature: of the graph as it was. origin: who decided: ``the rewrites``, ``the plan cache``,
        ``the pinned plan``.
    seconds: that it took. notes: what else is to be said.
    """

    graph: Graph
    sites: tuple[Site, ...]
    signature: str
    origin: str
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
