"""What was decided about one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.planning.kept import Kept
from orchestrator_core.conductor.site import Site


@dataclass(frozen=True, slots=True)
class Planned:
    """Attributes:
    derive: the graph as it is to run. sites: what was found in it.
    signature: of the graph as it was. origin: who decided: ``the rewrites``, ``the plan cache``,
        ``the pinned plan``.
    seconds: that it took. notes: what else is to be said.
    kept: what other processes are left of it; None where that is not worth it, or impossible.
    """

    derive: Callable[[], Graph]
    sites: tuple[Site, ...]
    signature: str
    origin: str
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    kept: Kept | None = None

    @property
    def graph(self) -> Graph:
        """As it is to run. Where another process has decided it may not be derived yet."""
        return self.derive()

    @property
    def is_changed(self) -> bool:
        """Is anything in another form than it was?"""
        return any(site.is_changed for site in self.sites)

    def changed_to(self, graph: Graph, sites: tuple[Site, ...]) -> Planned:
        """The same, but for what is to run."""
        return replace(self, derive=lambda: graph, sites=sites, kept=None)
