"""The rewrite "recurrence": loops, each in the form that is cheapest on the device."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator_core.conductor.cost import price, this_device
from orchestrator_core.conductor.facts.recurrent import in_words, systems_of
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.ir.written import in_place_of
from orchestrator_core.conductor.recurrence.absorb import absorb, absorb_shared
from orchestrator_core.conductor.recurrence.chunking import chunked_pairs
from orchestrator_core.conductor.recurrence.forms import (
    BY_PRODUCTS,
    alone,
    chosen,
    is_read_by_products,
)
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.open_ended import open_ended
from orchestrator_core.conductor.recurrence.rolling import roll_up
from orchestrator_core.conductor.recurrence.stacked import stack_filled
from orchestrator_core.conductor.recurrence.unparallel import unparallel
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import AS_IT_IS, Site


def recurrence(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All loops of a graph, those in bodies first."""
    return in_bodies(NAME, _in_one, graph, goal)


def _in_one(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    graph, filled = stack_filled(graph, goal)
    graph, unrolled = roll_up(graph, goal)
    graph, parallel = unparallel(graph, goal)
    before = set(_loops(graph))
    graph, early = _by_products(graph, goal)
    new = set(_loops(graph)) - before
    graph, absorbed = _absorbed(graph, goal, new)
    written = [each for each in _loops(graph) if each not in new]
    graph, sites = chunked_pairs(graph, this_device(), goal)
    sites = [*filled, *unrolled, *parallel, *early, *absorbed, *sites]
    for first in written:
        node = graph.producer.get(first)
        if node is not None and is_loop(node):
            graph, site = _tried(graph, node, goal)
            sites.append(site)
    return graph, sites + open_ended(graph)


def _by_products(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """Forms that have to know how a loop reads its states, before anything is moved in or out."""
    sites: list[Site] = []
    for first in _loops(graph):
        if is_read_by_products(graph.producer[first]):
            done, site = _tried(graph, graph.producer[first], goal)
            if site.settings.get("form") in BY_PRODUCTS:
                graph, sites = done, [*sites, site]
    return graph, sites


def _absorbed(graph: Graph, goal: Goal, new: Collection[Value]) -> tuple[Graph, list[Site]]:
    """All but new loops, which are a form of another."""
    sites = []
    for first in _loops(graph):
        if first not in new:
            graph, found = absorb(graph, graph.producer[first], goal)
            sites += found
    loops = [graph.producer[first] for first in _loops(graph) if first not in new]
    graph, found = absorb_shared(graph, loops, goal)
    return graph, sites + found


def _loops(graph: Graph) -> list[Value]:
    """The first results of all loops."""
    return [node.outputs[0] for node in graph.nodes if is_loop(node)]


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
        return graph, Site.failed(NAME, node.source, found, error)
    against = f"; others would take: {form.against}" if form.against else ""
    if not form.chosen:
        why = f"a plain loop is the form of choice{against}"
        return graph, Site(NAME, node.source, found, AS_IT_IS, why, prices[0])
    after = in_place_of(graph, [node], form.graph, node.outputs)
    settings, why = {"form": form.name}, form.reason + against
    return after, Site(NAME, node.source, found, form.chosen, why, *prices, settings)
