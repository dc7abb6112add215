"""Regions that are not worth a loop over tiles, and may be worth a kernel."""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels.emission import KERNELS
from orchestrator_core.conductor.kernels.upright import upright
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.rewrite import tiled
from orchestrator_core.conductor.tile.settings import TileSettings


def in_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All regions that are worth it. Kernels have tiles of their own, so of a pass only one form is
    looked at."""
    one = dataclasses.replace(settings, tile=settings.tile or settings.min_axis)
    made, sites = tiled(upright(graph), goal, one, KERNELS)
    return (made if any(site.is_changed for site in sites) else graph), sites
