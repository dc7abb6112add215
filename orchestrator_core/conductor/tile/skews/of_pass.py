"""The skews of a pass."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator_core.conductor.facts.axes import Role, Spec, axis_roles
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.tile.accumulators import AlongDiagonals, Reduced
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.skews.products import NAMES, SKEWED


def skews_of(one: Pass) -> Iterator[tuple[Node, Spec]]:
    """All products, with the specs of the pairwise values."""
    for step in one.recipe.steps:
        if step.node.name == SKEWED:
            yield step.node, step.spec
    for each in one.others:
        if isinstance(each, AlongDiagonals | Reduced) and each.boundary.node.name in NAMES:
            node = each.boundary.node
            yield node, each.boundary.inputs[node.params["side"]]


def rows_of_skews(one: Pass) -> frozenset[Role]:
    """The roles along which there are the rows of what is skewed."""
    return frozenset(
        role for node, spec in skews_of(one) for role in axis_roles(spec[node.params["rows"]])
    )
