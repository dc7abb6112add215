"""Where in a graph sites are: a plan made of the same code on other lines, or in another file, is
told, and taken again, by the lines of this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.site import Site


def placed(sites: Iterable[Site], graph: Graph) -> tuple[Site, ...]:
    """The sites, each with the number of the first node of its line in the graph as it was read."""
    first: dict[str, int] = {}
    for number, source in enumerate(_sources(graph)):
        first.setdefault(source, number)
    return tuple(replace(site, place=first.get(site.source)) for site in sites)


def found_again(sites: Iterable[Site], graph: Graph) -> tuple[Site, ...]:
    """The sites of a graph with the same signature, on the lines of this one."""
    sources = list(_sources(graph))
    return tuple(
        replace(site, source=sources[site.place])
        if site.place is not None and 0 <= site.place < len(sources)
        else site
        for site in sites
    )


def _sources(graph: Graph) -> Iterator[str]:
    """Of each node and then of those in its bodies, in their order: that of the signature."""
    for node in graph.nodes:
        yield node.source
        for body in node.bodies:
            yield from _sources(body)
