"""Gathers and scatters along axes that their places share, as `take_along_axis` makes them.

XLA's compilers know no such axes: they join the number along each of them to every place, and keep
what they have joined, a scatter another array than a gather of the same places. For one number of
32 bits a place that is 8 bytes. A scatter copies what it adds, too, where nothing makes it. Seen on
a CPU in 0.10.2 (XLA's ``BatchedGatherScatterNormalizer``).
"""

from __future__ import annotations

import dataclasses
import math

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.rules.reductions import SCATTERS
from orchestrator_core.conductor.cost.standing_in import standing_in
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value


def without_batches(node: Node) -> list[Node]:
    """The nodes that XLA makes of one: numbers along the shared axes, places that they are joined
    to, and the operation on these. Nothing of an operation that shares no axes."""
    numbers = node.params.get("dimension_numbers")
    shared = len(getattr(numbers, "operand_batching_dims", ()))
    if not shared:
        return []
    array, places, *added = node.inputs
    *many, depth = places.shape
    if node.name in SCATTERS:
        many = [math.prod(many)]
    along = Value(_jax.ShapedArray((*many, shared), places.dtype))
    joined = Value(_jax.ShapedArray((*many, shared + depth), places.dtype))
    copies = [Value(_jax.ShapedArray(each.shape, each.dtype)) for each in added]
    return [
        standing_in("iota", node, (), along),
        standing_in("concatenate", node, (along, places), joined, dimension=len(many)),
        *(standing_in("copy", node, (a,), b) for a, b in zip(added, copies, strict=True)),
        dataclasses.replace(node, inputs=(array, joined, *copies)),
    ]
