"""The rewrite "algebra": what is shorter or faster by identities of numbers alone."""

from __future__ import annotations

from orchestrator_core.conductor.algebra.choices import numbers_outside
from orchestrator_core.conductor.algebra.convolutions import folded_into
from orchestrator_core.conductor.algebra.first_axes import summed_by_products
from orchestrator_core.conductor.algebra.judged import NAME
from orchestrator_core.conductor.algebra.largest import largest_first
from orchestrator_core.conductor.algebra.merging import merged
from orchestrator_core.conductor.algebra.shorter import FOUND_BY_XLA, shorter
from orchestrator_core.conductor.algebra.trees import as_trees
from orchestrator_core.conductor.algebra.turned import turned
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import Site
from orchestrator_core.words import plural


def algebra(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph and all bodies of its loops, shorter; products merged, scales folded, and sorts
    saved where that gains."""
    graph, sites = in_bodies(_shortened, graph, goal)
    for improve in (merged, _folded, _largest_first):
        graph, more = improve(graph, goal)
        sites += more
    return graph, list(dict.fromkeys(sites))  # layers that are alike once


def algebra_again(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """After all others: what they have made shorter and merged, and products and sums as the device
    likes them, which would have hidden them from the others."""
    graph, _ = in_bodies(_shortened, graph, goal)
    graph, sites = merged(graph, goal)
    graph, more = in_bodies(_as_the_device_likes, graph, goal)
    return graph, list(dict.fromkeys(site for site in sites + more if site.is_changed))


def _shortened(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    before = len(graph.nodes)
    graph, found = shorter(graph)
    if not found:
        return graph, []
    what = "operations: " + ", ".join(f"{count} {kind}" for kind, count in found.items())
    source = next((node.source for node in graph.nodes if node.source), "")
    chosen = f"{plural(len(graph.nodes), 'operation')} instead of {before}"
    gains = not FOUND_BY_XLA.issuperset(found)
    return graph, [Site(NAME, source, what, chosen, "the same numbers in every bit", gains=gains)]


def _folded(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    return in_bodies(folded_into, graph, goal)


def _largest_first(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    return in_bodies(largest_first, graph, goal)


def _as_the_device_likes(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    sites = []
    for improve in (turned, summed_by_products, as_trees, numbers_outside):
        graph, more = improve(graph, goal)
        sites += more
    return graph, sites
