"""The rewrite "algebra": what is shorter or faster by identities of numbers alone."""

from __future__ import annotations

from orchestrator_core.conductor.algebra.convolutions import folded_into
from orchestrator_core.conductor.algebra.first_axes import summed_by_products
from orchestrator_core.conductor.algebra.judged import NAME
from orchestrator_core.conductor.algebra.products import merged
from orchestrator_core.conductor.algebra.shorter import shorter
from orchestrator_core.conductor.algebra.turned import turned
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.rewrite import in_bodies
from orchestrator_core.conductor.site import Site


def algebra(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph and all bodies of its loops, shorter; products merged and scales folded where that
    gains."""
    return in_bodies(_in_one, graph, goal)


def algebra_again(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """After all others: what they have made shorter and merged, and products and sums as the device
    likes them, which would have hidden them from the others."""
    return in_bodies(_again_in_one, graph, goal)


def _again_in_one(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    graph, _ = shorter(graph)
    sites = []
    for improve in (merged, turned, summed_by_products):
        graph, more = improve(graph, goal)
        sites += [site for site in more if site.is_changed]
    return graph, list(dict.fromkeys(sites))


def _in_one(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    before = len(graph.nodes)
    graph, found = shorter(graph)
    sites = []
    if found:
        what = ", ".join(f"{count} {kind}" for kind, count in found.items())
        source = next((node.source for node in graph.nodes if node.source), "")
        chosen = f"{len(graph.nodes)} operations instead of {before}"
        sites.append(Site(NAME, source, what, chosen, "the same numbers in every bit"))
    for merge in (merged, folded_into):
        graph, more = merge(graph, goal)
        sites += more
    return graph, list(dict.fromkeys(sites))  # layers that are alike once
