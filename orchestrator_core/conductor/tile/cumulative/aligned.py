"""Tiles that begin where the blocks of running sums do."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator_core.conductor.facts.axes import Role, axis_roles
from orchestrator_core.conductor.tile.passes import Pass


def aligned(one: Pass, sizes: Mapping[Role, int]) -> dict[Role, int]:
    """The same sizes of tiles, or the next larger ones that are whole blocks, or the whole axis."""
    made = dict(sizes)
    for node, spec in one.runnings:
        running = node.params["running"]
        for role in axis_roles(spec[running.axis]):
            whole = running.count(made[role]) * running.block
            made[role] = min(whole, one.length[role])
    return made
