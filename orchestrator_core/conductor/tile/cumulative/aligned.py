"""Tiles that begin where the blocks of running sums do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator_core.conductor.facts.axes import Role, Spec, axis_roles
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.tile.accumulators import BlockTotals
from orchestrator_core.conductor.tile.cumulative.nodes import NAMES
from orchestrator_core.conductor.tile.passes import Pass


def runnings_of(one: Pass) -> Iterator[tuple[Node, Spec]]:
    """All in a pass, with the specs of what they run along."""
    for step in one.recipe.steps:
        if step.node.name in NAMES:
            yield step.node, step.spec
    for each in one.others:
        if isinstance(each, BlockTotals):
            yield each.boundary.node, each.boundary.inputs[0]


def aligned(one: Pass, sizes: Mapping[Role, int]) -> dict[Role, int]:
    """The same sizes of tiles, or the next larger ones that are whole blocks, or the whole axis."""
    made = dict(sizes)
    for node, spec in runnings_of(one):
        running = node.params["running"]
        for role in axis_roles(spec[running.axis]):
            whole = running.count(made[role]) * running.block
            made[role] = min(whole, one.length[role])
    return made
