"""Numbers of pairs that are spread over their coordinates, as weights are, are spread by a loop.

In a tile XLA for CPUs gives YNNPACK all from a reduction to the spreading of what became of it,
which then is stored row by row. A selection ends such a group: the library has none. Measured in
JAX 0.10.2 (EPYC, 2026): tiles of weighted signs of 8 coordinates took a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.fusion_facts import is_in_library
from orchestrator_core.conductor.cost.library_rows import spreads_over_rows
from orchestrator_core.conductor.facts.intervals.interval import is_real
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import in_place_of, written


def spread_by_loops(graph: Graph, is_large: Callable[[Atom], bool]) -> Graph:
    """The same numbers in every bit, where a library would spread large ones for a loop."""
    if this_device().platform != "cpu":
        return graph
    for output in [n.output for n in graph.nodes if _is_for_loops(graph, n)]:
        node = graph.producer[output]
        (operand,) = node.inputs
        if isinstance(operand, Value) and is_large(operand):
            new = written(_Spread(node), [operand], node.source)
            graph = in_place_of(graph, [node], new, [output])
    return graph


def _is_for_loops(graph: Graph, node: Node) -> bool:
    if node.name != "broadcast_in_dim" or len(node.inputs) != 1 or not is_real(node.output.dtype):
        return False
    readers = graph.consumers.get(node.output, ())
    return spreads_over_rows(node) and not any(map(is_in_library, readers))


class _Spread:
    """What stands for a broadcast."""

    def __init__(self, node: Node) -> None:
        self._shape, self._axes = node.params["shape"], node.params["broadcast_dimensions"]

    def __call__(self, array: Any) -> list[Any]:
        ended = jnp.where(array == array, array, array + array)
        return [lax.broadcast_in_dim(ended, self._shape, self._axes)]
