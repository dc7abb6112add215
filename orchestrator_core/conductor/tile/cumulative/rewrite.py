"""Running sums and the like of pairwise values, in blocks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.intervals.interval import is_real
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import written
from orchestrator_core.conductor.tile.accumulators.base import summing_type
from orchestrator_core.conductor.tile.cumulative.nodes import totals_of, values_of
from orchestrator_core.conductor.tile.cumulative.products import PART
from orchestrator_core.conductor.tile.cumulative.readings import Reading, Readings

BLOCK = 128
"""Elements. Of what all pairs would take, the totals of blocks take so small a part."""


def block_of(tile: int | None) -> int:
    """Elements of a block, for tiles of a size: of whole parts, and no more than the tile has."""
    most = BLOCK if tile is None else min(tile, BLOCK)
    return max(most // PART * PART, PART)


def in_blocks(graph: Graph, is_large: Callable[[Atom], bool], block: int = BLOCK) -> Graph:
    """The same function; the same graph if nothing large runs along several blocks."""
    made, readings = _Blocks(Dataflow(graph).compared), Readings(graph, block)
    for node in graph.nodes:
        found = readings.of(node.output) if len(node.outputs) == 1 else None
        total = readings.of_total(node) if found is None else None
        if found is not None and _is_long(found) and is_large(found.given):
            made.put_values(found, node.output)
        elif total is not None and _is_long(total) and is_large(total.given):
            made.put_total(total, node.output)
        else:
            made.nodes.append(node)
    return graph.with_nodes(made.nodes) if made.totals else graph


def _is_long(found: Reading) -> bool:
    length = found.given.shape[found.running.axis]
    return length > found.running.block and is_real(found.given.dtype)


class _Blocks:
    """Attributes:
    nodes: of the new graph. totals: by what they are of.
    """

    def __init__(self, compared: frozenset[Value]) -> None:
        self._compared = compared
        self.nodes: list[Node] = []
        self.totals: dict[tuple[Atom, str, int], Value] = {}

    def put_values(self, found: Reading, output: Value) -> None:
        totals = self._totals(found)
        running = dataclasses.replace(found.running, is_exact=output in self._compared)
        borders = written(lambda array: [running.borders(array)], [totals], found.source)
        self.nodes += borders.nodes
        self.nodes.append(values_of(running, found.given, borders.outputs[0], output, found.source))

    def put_total(self, found: Reading, output: Value) -> None:
        self.nodes += _written(found.running.total, self._totals(found), output, found.source)

    def _totals(self, found: Reading) -> Value:
        running, given = found.running, found.given
        key = (given, running.name, running.axis)
        if key not in self.totals:
            shape = [*given.shape]
            shape[running.axis] = running.count(shape[running.axis])
            made = Value(_jax.ShapedArray(tuple(shape), summing_type(given.dtype)))
            self.nodes.append(totals_of(running, given, made, found.source))
            self.totals[key] = made
        return self.totals[key]


def _written(
    function: Callable[[Any], Any], given: Value, output: Value, source: str
) -> Sequence[Node]:
    """A function of an array, the last node of which makes the output."""
    graph = written(lambda array: [function(array).astype(output.dtype)], [given], source)
    *others, last = graph.nodes
    return [*others, dataclasses.replace(last, outputs=(output,))]
