"""Views of pairwise values that are skews of them, found from a graph's first node on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator_core.conductor.facts.lines.moves import given_of, moved
from orchestrator_core.conductor.facts.lines.skew import Skewed, skewed
from orchestrator_core.conductor.facts.lines.view import View, itself
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Atom, Value


@dataclass(frozen=True)
class SkewedView:
    """Attributes:
    root: what is skewed. view: where its elements stand. how: as which skews.
    """

    root: Value
    view: View
    how: Skewed


def skewed_views(graph: Graph, is_pairwise: Callable[[Atom], bool]) -> dict[Value, SkewedView]:
    """All, by value; of views of views the one of what comes first."""
    views: dict[Value, dict[Value, View]] = {}
    found: dict[Value, SkewedView] = {}
    for node in graph.nodes:
        given = given_of(node, graph.producer)
        if given is None or len(node.outputs) != 1 or not is_pairwise(given):
            continue
        ours = views.setdefault(given, {given: itself(given.shape)})
        after = {root: moved(node, view, graph.producer) for root, view in ours.items()}
        made = node.output
        views[made] = {root: view for root, view in after.items() if view is not None}
        views[made][made] = itself(made.shape)
        one = next(_skewed(views[made]), None)
        if one is not None:
            found[made] = one
    return found


def _skewed(views: dict[Value, View]) -> Iterator[SkewedView]:
    for root, view in views.items():
        how = skewed(view)
        if how is not None:
            yield SkewedView(root, view, how)
