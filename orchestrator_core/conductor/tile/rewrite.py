"""The rewrite ``tiling``: pairwise regions of a graph become passes over tiles."""

from __future__ import annotations

import functools

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.emission import LOOPS, Emission
from orchestrator_core.conductor.tile.prepared import Prepared
from orchestrator_core.conductor.tile.rewriter import Rewriter
from orchestrator_core.conductor.tile.settings import TileSettings, settings_for
from orchestrator_core.conductor.tile.strips import in_strips


def tile(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All regions that are worth it, in the graph and in the bodies of its loops."""
    settings = settings_for(goal)
    return in_bodies(LOOPS.name, functools.partial(tiled, settings=settings), graph, goal)


def tiled(
    graph: Graph, goal: Goal, settings: TileSettings, emission: Emission = LOOPS
) -> tuple[Graph, list[Site]]:
    """All regions of one graph that are worth it.

    Args:
        emission: what passes become.
    """
    prepared = Prepared.of(graph, settings)
    rewriter = Rewriter(prepared, goal, settings, emission)
    rewriter.try_each()
    rewriter.try_together()
    changed = any(site.is_changed for site in rewriter.sites)
    made = prepared.whole(rewriter.graph) if changed else graph
    # Kernels finish rows themselves.
    return in_strips(made, settings) if changed and emission is LOOPS else made, rewriter.sites
