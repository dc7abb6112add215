"""The rewrites, one after another, each with the right to fail."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.rewrite import SPENT, Remaining, Rewrite, tried
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.factors import with_factors_in_order

REWRITES: Mapping[str, str] = {
    "algebra": "orchestrator_core.conductor.algebra.rewrite:algebra",
    "recurrence": "orchestrator_core.conductor.recurrence.rewrite:recurrence",
    "loops": "orchestrator_core.conductor.loops.rewrite:loops",
    "tiling": "orchestrator_core.conductor.tile.rewrite:tile",
    "kernels": "orchestrator_core.conductor.kernels.rewrite:kernels",
}
"""By name, in the order in which they are tried: ``module:function`` of a `Rewrite`."""


AGAIN = {"algebra": "orchestrator_core.conductor.algebra.rewrite:algebra_again"}
"""What is tried once more after all of them, by the name that allows it."""


BY_ITSELF = "XLA does so by itself, and nothing else changes"


def rewritten(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """What all permitted rewrites make of a graph, within the goal's budget. The graph itself where
    they do no more than XLA does, which may fuse the same worse if it is written otherwise."""
    after, sites = _by_all(graph, goal)
    if goal.always or any(site.is_changed and site.gains for site in sites):
        return with_factors_in_order(after), sites
    return graph, [site.left(BY_ITSELF) if site.is_changed else site for site in sites]


def _by_all(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    remaining = Remaining(goal)
    sites: list[Site] = []
    for name, place in (*REWRITES.items(), *AGAIN.items()):
        if not goal.permits(name):
            continue
        left_alone = _left_alone(name, goal)
        if left_alone is not None:
            sites += [site for site in left_alone if site not in sites]
            continue
        rest = remaining.goal()
        found = remaining.untried(name)
        if rest is not None:
            graph, found = tried(name, _loaded(place), graph, rest)
        # That there was no time for all of it is said once.
        sites += [site for site in found if site.reason != SPENT or site not in sites]
    return graph, sites


def _left_alone(name: str, goal: Goal) -> list[Site] | None:
    """The rewrite's sites, if a pinned plan says that it changes none of them."""
    if goal.pinned is None:
        return None
    sites = [site for site in goal.pinned if site.rewrite == name]
    return None if any(site.is_changed for site in sites) else sites


def _loaded(place: str) -> Rewrite:
    module, function = place.split(":")
    rewrite: Rewrite = getattr(importlib.import_module(module), function)
    return rewrite
