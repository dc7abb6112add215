"""The rewrite "recurrence": loops, each in the form that is cheapest on the device."""

from __future__ import annotations

from orchestrator_core.conductor.facts.recurrent import in_words, systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.recurrence.chunking import chunked_pairs
from orchestrator_core.conductor.recurrence.device import Device, here
from orchestrator_core.conductor.recurrence.fission import fission
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.parallel import in_parallel, is_cheaper, is_parallel
from orchestrator_core.conductor.recurrence.rolling import roll_up
from orchestrator_core.conductor.recurrence.unparallel import unparallel
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Site


def recurrence(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All loops of a graph, those in bodies first."""
    return in_bodies(_in_one, graph, goal)


def _in_one(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    graph, unrolled = roll_up(graph, goal)
    graph, parallel = unparallel(graph, here(), goal)
    written = [node.outputs[0] for node in graph.nodes if is_loop(node)]
    graph, sites = chunked_pairs(graph, here(), goal)
    sites = [*unrolled, *parallel, *sites]
    for first in written:
        node = graph.producer.get(first)
        if node is not None and is_loop(node):
            graph, site = _tried(graph, node, goal)
            sites.append(site)
    return graph, sites


def is_loop(node: Node) -> bool:
    """A loop that carries something, without effects, of two steps or more."""
    if node.name != "scan" or node.effects:
        return False
    scan = Scan.of(node)
    return scan.length > 1 and len(scan.carry) > 0


def _tried(graph: Graph, node: Node, goal: Goal) -> tuple[Graph, Site]:
    device = here()
    found = in_words(systems_of(Scan.of(node)))
    known = goal.decided(NAME, node.source, found)
    if known is not None and not known.is_changed:
        return graph, known
    try:
        after, done = fission(graph, node, device, goal)
        parallel = as_parallel_scans(after, node, device, goal)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return graph, Site(NAME, node.source, found, AS_IT_IS, reason)
    reason = "in each step alone that is dear"
    if parallel is not None:
        after, reason = parallel, "one step after another leaves the device idle"
    elif not done:
        return graph, Site(NAME, node.source, found, AS_IT_IS, "a plain loop is the cheapest form")
    form = "a plain loop" if parallel is None else "parallel scans"
    return after, Site(NAME, node.source, found, ", ".join([form, *done]), reason)


def as_parallel_scans(graph: Graph, node: Node, device: Device, goal: Goal) -> Graph | None:
    """The graph with parallel scans in the place of what is left of a loop, if they are right and
    cheaper."""
    made = (graph.producer.get(value) for value in node.outputs)
    loop = next((each for each in made if each is not None and each.name == "scan"), None)
    if loop is None or goal.is_strict or goal.objective == "memory":
        return None
    scan = Scan.of(loop)
    systems = systems_of(scan)
    if not is_cheaper(scan, systems, device) or not is_parallel(scan, systems):
        return None
    return in_parallel(graph, loop, systems)
