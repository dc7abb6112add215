"""Loops that run until something holds: they stay, and say so."""

from __future__ import annotations

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.site import AS_IT_IS, Site

FOUND = "a while loop"

WHY = (
    "how many steps it takes is known only once it has run, so they can be neither joined nor "
    "taken at once; its body was looked at by itself"
)


def open_ended(graph: Graph) -> list[Site]:
    """A site for each of them."""
    loops = (node for node in graph.nodes if node.name == "while")
    return [Site(NAME, node.source, FOUND, AS_IT_IS, WHY) for node in loops]
