"""Products in tiles that are large enough for all cores.

XLA shares a product out to the cores of a CPU only if each matrix is large; how many there are in
its batch does not count. So of 4 heads of 64 elements, tiles of 256 x 256 are done by one core, and
those of 256 x 512 by all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from orchestrator_core.conductor.facts.axes import Role, Spec, tile_shape
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Literal
from orchestrator_core.conductor.tile.accumulators import Reduced, Summed
from orchestrator_core.conductor.tile.passes import Pass

LARGE = 2.0**24
"""Flops of a matrix from which on all cores work on it; measured with two."""


def are_shared(one: Pass, sizes: Mapping[Role, int]) -> bool:
    """Are all products of a pass in tiles of a size large enough?"""
    return all(matrix_flops(*each, sizes) >= LARGE for each in _products(one))


def matrix_flops(node: Node, specs: Sequence[Spec], sizes: Mapping[Role, int]) -> float:
    """Of one matrix of a batch."""
    sides, (left, right) = Sides.of(node), (tile_shape(spec, sizes) for spec in specs)
    mine = math.prod(left[k] for k in (*sides.free[0], *sides.contracted[0]))
    return 2.0 * mine * math.prod(right[k] for k in sides.free[1])


def _products(one: Pass) -> Iterator[tuple[Node, Sequence[Spec]]]:
    """All in a tile, with the specs of their operands."""
    for step in one.recipe.steps:
        specs = [each[1] for each in step.inputs if not isinstance(each, Literal)]
        if step.node.name == "dot_general" and len(specs) == 2:
            yield step.node, specs
    for each in one.others:
        if isinstance(each, Summed | Reduced):
            boundary = each.plan.boundary if isinstance(each, Summed) else each.boundary
            if boundary.node.name == "dot_general":
                yield boundary.node, boundary.inputs
