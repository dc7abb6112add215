"""The rewrite ``kernels``: what XLA does not fuse on a GPU, as one kernel each.

Passes over tiles that are loops become kernels, and so do regions that are not worth a loop, and
loops over time. Where there is no GPU nothing happens.
"""

from __future__ import annotations

import functools

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.kernels.numbers import with_numbers_inside
from orchestrator_core.conductor.kernels.settings import are_interpreted
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Site
from orchestrator_core.conductor.tile.settings import TileSettings, settings_for


def kernels(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All kernels that are worth it, in the graph and in the bodies of its loops."""
    if this_device().platform != "gpu" and not are_interpreted():
        return graph, _no_gpu(graph)
    settings = settings_for(goal)
    with_all = functools.partial(with_kernels, settings=settings)
    made, sites = in_bodies(NAME, with_all, with_numbers_inside(graph), goal)
    return (made if any(site.is_changed for site in sites) else graph), sites


def _no_gpu(graph: Graph) -> list[Site]:
    if not any(node.name in ("tiled_pass", "scan") for _, node in graph.walk()):
        return []
    why = "no GPU: kernels are not used"
    return [Site(NAME, "", "loops that could be kernels", AS_IT_IS, why)]


def with_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All kernels of one graph that are worth it."""
    from orchestrator_core.conductor.kernels import cudnn, ended, loops, passes, regions

    made: list[Site] = []
    for each in (cudnn, passes, regions, ended, loops):
        graph, sites = each.in_kernels(graph, goal, settings)
        made += sites
    return graph, made
