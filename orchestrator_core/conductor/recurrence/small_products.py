"""Products that a CPU's steps do at next to no cost, and that stay there.

XLA makes one piece of code of a small loop; what is taken out of it is done by itself, for all
steps, and its results are written and read. Measured on two cores (EPYC, 2026, 4096 steps; seconds
with it taken out over those without, `h = g(A h + B u)`): one product of 2 to 8 elements from 2 to
4 each 1.4 to 2.4, of 16 and 32 elements 0.7 to 1.3, of 64 and 128 0.66 to 0.95; two or three, from
4 or more elements each, 0.3 to 0.97, from 2 and 3 up to 1.4. After the loop, `y = C h`: 2 to 4
elements from 2 to 16 up to 2.1, 8 to 64 from 8 to 64 0.59 to 0.99.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from orchestrator_core.conductor.ir.node import Node

ALONE = 64
"""Elements of products that are worth it before a loop, whatever else there is."""

SUMMED = 4
"""Elements over which each of several products sums, if they are worth it before a loop."""

AFTER = 8
"""Elements of products, and over which one of them sums, that are worth it after a loop."""


def are_large_before(nodes: Iterable[Node]) -> bool:
    """Is it worth it to do these products before the loop? They are so without any."""
    products = _products(nodes)
    if not products or _made(products) >= ALONE:
        return True
    return len(products) > 1 and min(map(_summed, products)) >= SUMMED


def are_large_after(nodes: Iterable[Node]) -> bool:
    """Is it worth it to do these products after the loop? They are so without any."""
    products = _products(nodes)
    if not products:
        return True
    return _made(products) >= AFTER and max(map(_summed, products)) >= AFTER


def _products(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.name == "dot_general"]


def _made(products: Sequence[Node]) -> int:
    return sum(node.output.size for node in products)


def _summed(node: Node) -> int:
    (axes, _), _ = node.params["dimension_numbers"]
    return math.prod(node.inputs[0].shape[axis] for axis in axes)
