"""The rewrite "recurrence": loops, each in the form that is cheapest on the device."""

from __future__ import annotations

from orchestrator_core.conductor.cost import price, this_device
from orchestrator_core.conductor.facts.recurrent import in_words, systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.written import in_place_of
from orchestrator_core.conductor.recurrence.absorb import absorb, absorb_shared
from orchestrator_core.conductor.recurrence.chunking import chunked_pairs
from orchestrator_core.conductor.recurrence.forms import alone, chosen
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.rolling import roll_up
from orchestrator_core.conductor.recurrence.unparallel import unparallel
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Site


def recurrence(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All loops of a graph, those in bodies first."""
    return in_bodies(_in_one, graph, goal)


def _in_one(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    graph, unrolled = roll_up(graph, goal)
    graph, parallel = unparallel(graph, goal)
    graph, absorbed = _absorbed(graph, goal)
    written = [node.outputs[0] for node in graph.nodes if is_loop(node)]
    graph, sites = chunked_pairs(graph, this_device(), goal)
    sites = [*unrolled, *parallel, *absorbed, *sites]
    for first in written:
        node = graph.producer.get(first)
        if node is not None and is_loop(node):
            graph, site = _tried(graph, node, goal)
            sites.append(site)
    return graph, sites


def _absorbed(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    sites = []
    for first in [node.outputs[0] for node in graph.nodes if is_loop(node)]:
        graph, found = absorb(graph, graph.producer[first], goal)
        sites += found
    graph, found = absorb_shared(graph, [node for node in graph.nodes if is_loop(node)], goal)
    return graph, sites + found


def is_loop(node: Node) -> bool:
    """A loop that carries something, without effects, of two steps or more."""
    if node.name != "scan" or node.effects:
        return False
    scan = Scan.of(node)
    return scan.length > 1 and len(scan.carry) > 0


def _tried(graph: Graph, node: Node, goal: Goal) -> tuple[Graph, Site]:
    found = in_words(systems_of(Scan.of(node)))
    known = goal.decided(NAME, node.source, found)
    if known is not None and not known.is_changed:
        return graph, known
    wanted = None if known is None else str(known.settings.get("form"))
    try:
        form = chosen(node, goal, wanted)
        prices = price(alone(node)), form.price
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        return graph, Site(NAME, node.source, found, AS_IT_IS, reason)
    if not form.chosen:
        why = "a plain loop is the cheapest form"
        return graph, Site(NAME, node.source, found, AS_IT_IS, why, prices[0])
    after = in_place_of(graph, [node], form.graph, node.outputs)
    settings = {"form": form.name}
    return after, Site(NAME, node.source, found, form.chosen, form.reason, *prices, settings)
