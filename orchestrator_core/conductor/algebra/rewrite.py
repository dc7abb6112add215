"""The rewrite "algebra": what is shorter or faster by identities of numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

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
from orchestrator_core.conductor.rewrite import WHOLE, Remaining, Rewrite, in_bodies, tried
from orchestrator_core.conductor.site import Site
from orchestrator_core.words import plural


def algebra(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph and all bodies of its loops, shorter; products merged, scales folded, and sorts
    saved where that gains."""
    graph, sites = _in_turn(IMPROVEMENTS, graph, goal)
    return graph, list(dict.fromkeys(sites))  # layers that are alike once


def algebra_again(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """After all others: what they have made shorter and merged, and products and sums as the device
    likes them, which would have hidden them from the others."""
    graph, sites = _in_turn(AGAIN, graph, goal)
    news = (site for site in sites if site.is_changed or site.found == WHOLE)
    return graph, list(dict.fromkeys(news))


def _in_turn(
    improvements: Mapping[str, Rewrite], graph: Graph, goal: Goal
) -> tuple[Graph, list[Site]]:
    """One after another within the goal's budget; one that fails costs itself alone."""
    remaining = Remaining(goal)
    sites: list[Site] = []
    for part, improve in improvements.items():
        rest = remaining.goal()
        if rest is not None:
            graph, more = tried(NAME, improve, graph, rest, part)
            sites += more
    return graph, [*sites, *remaining.untried(NAME)]


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


def _shorter_still(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """Without a word: what was found the first time has been told."""
    return in_bodies(NAME, _shortened, graph, goal)[0], []


def _as_the_device_likes(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    sites: list[Site] = []
    for part, improve in LIKED.items():
        graph, more = tried(NAME, improve, graph, goal, part)
        sites += more
    return graph, sites


IMPROVEMENTS: Mapping[str, Rewrite] = {
    "fewer operations": partial(in_bodies, NAME, _shortened),
    "products of one array": merged,
    "scaled convolutions": partial(in_bodies, NAME, folded_into),
    "the largest first": partial(in_bodies, NAME, largest_first),
}
"""By what a failure is called."""

AGAIN: Mapping[str, Rewrite] = {
    "fewer operations": _shorter_still,
    "products of one array": merged,
    "as the device likes it": partial(in_bodies, NAME, _as_the_device_likes),
}

LIKED: Mapping[str, Rewrite] = {
    "turned products": turned,
    "sums by products": summed_by_products,
    "sums as trees": as_trees,
    "numbers outside of choices": numbers_outside,
}
"""In each body."""
