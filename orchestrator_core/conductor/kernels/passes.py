"""Passes that are loops over tiles, as kernels."""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.cost import seconds_of_work, this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.emission import kernel_node, price_of
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.kernels.program import Programs
from orchestrator_core.conductor.refused import Refused
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings


def in_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All passes of a graph for which that is right and faster."""
    programs, sites, nodes = Programs(), [], []
    for node in graph.nodes:
        runner = node.params.get("runner")
        if node.name == "tiled_pass" and isinstance(runner, Runner):
            node, site = _tried(node, runner, goal, settings, programs)
            sites.append(site)
        nodes.append(node)
    if not any(site.is_changed for site in sites):
        return graph, sites
    return dataclasses.replace(graph, nodes=tuple(nodes)), sites


def _tried(
    node: Node, runner: Runner, goal: Goal, settings: TileSettings, programs: Programs
) -> tuple[Node, Site]:
    length = runner.one.length
    found = f"a pass over {length['i']} x {length['j']}"
    known = goal.decided(NAME, node.source, found)
    if known is not None and not known.is_changed:
        return node, known
    try:
        program = programs.of(runner)
    except Refused as refused:
        return node, Site(NAME, node.source, found, AS_IT_IS, str(refused))
    except Exception as error:  # this site stays as it is
        return node, Site.failed(NAME, node.source, found, error)
    price = price_of(program, runner)
    was, now = seconds_of_work(node.params["work"], this_device()), price.seconds
    temp = node.params["work"].temp_bytes
    prices = Price(was, temp), Price(now, price.work.temp_bytes)
    if was < now and not settings.always and known is None:
        why = f"as a kernel it would take {now:.2g} s, as a loop {was:.2g} s"
        return node, Site(NAME, node.source, found, AS_IT_IS, why, *prices)
    made = dataclasses.replace(kernel_node(runner, price), outputs=node.outputs, source=node.source)
    why = "its tiles stay on the chip"
    return made, Site(NAME, node.source, found, program.words, why, *prices)
