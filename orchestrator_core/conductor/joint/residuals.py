"""Which values a forward pass keeps for the backward pass: those with the fewest bytes.

A minimum cut, as in Zheng et al., "Transcending Runtime-Memory Tradeoffs in Checkpointing by being
Fusion Aware" (MLSys 2023): a value is kept, which costs its bytes, or computed again from others if
that is cheap. Inputs, constants and outputs are there anyway and cost nothing. Of several minimal
cuts it is the one that computes least again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator_core.conductor.cost.fusion_facts import EXPENSIVE, FREE, LOOPS, REDUCTIONS
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.minimum_cut import ENDLESS, behind

CHEAP: Mapping[str, frozenset[str]] = {
    "time": (LOOPS | FREE) - EXPENSIVE,
    "memory": LOOPS | FREE | REDUCTIONS,
}
"""By objective: primitives whose results may be computed a second time."""

SOURCE, SINK = 0, 1


@dataclass(frozen=True, slots=True)
class Residuals:
    """Attributes:
    kept: values that the forward part hands on. again: nodes that the backward part does again.
    """

    kept: tuple[Value, ...]
    again: tuple[Node, ...]


def residuals(graph: Graph, read: Collection[Value], objective: str) -> Residuals:
    """How the backward part comes by what it reads of the forward part.

    Args:
        graph: forward and backward. read: values of the forward part.
    """
    there = {*graph.inputs, *graph.constants}
    wanted = [value for value in dict.fromkeys(read) if value not in there]
    cheap = _cheap(graph, CHEAP[objective], there)
    cut = _made_again(graph, _above(wanted, cheap), wanted, cheap)
    walked = _above(wanted, {value: cheap[value] for value in cut})
    again = walked.keys() & cut
    return Residuals(
        tuple(v for node in graph.nodes for v in node.outputs if v in walked and v not in again),
        tuple(node for node in graph.nodes if not again.isdisjoint(node.outputs)),
    )


Cheap = Mapping[Value, Sequence[Value]]
"""Values that are cheap to have twice, each with what it is made of that is not there anyway."""


def _cheap(graph: Graph, names: Collection[str], there: Collection[Value]) -> Cheap:
    return {
        value: [each for each in node.inputs if isinstance(each, Value) and each not in there]
        for node in graph.nodes
        if node.primitive is not None and node.name in names and not node.effects
        for value in node.outputs
    }


def _above(wanted: Sequence[Value], cheap: Cheap) -> dict[Value, int]:
    """All that takes part in having what is wanted, each value with a number."""
    found: dict[Value, int] = {}
    stack = list(wanted)
    while stack:
        value = stack.pop()
        if value not in found:
            found[value] = len(found)
            stack += cheap.get(value, ())
    return found


def _made_again(
    graph: Graph, values: Mapping[Value, int], wanted: Sequence[Value], cheap: Cheap
) -> set[Value]:
    """The values behind a minimum cut.

    A value is two points, one before (2 n + 2) and one behind (2 n + 3) the place where it would be
    kept, with an edge of its bytes between them. All other edges are endless.
    """
    edges: dict[tuple[int, int], int] = {(2 * values[each] + 3, SINK): ENDLESS for each in wanted}
    bytes_of = _scaled(graph, values)
    for value, n in values.items():
        edges[2 * n + 2, 2 * n + 3] = bytes_of[value]
        if value in cheap:
            edges |= {(2 * values[each] + 3, 2 * n + 2): ENDLESS for each in cheap[value]}
        else:
            edges[SOURCE, 2 * n + 2] = ENDLESS
    again = behind(edges, SOURCE, SINK) or set()
    return {value for value, n in values.items() if value in cheap and 2 * n + 2 in again}


def _scaled(graph: Graph, values: Collection[Value]) -> dict[Value, int]:
    """Bytes, in a unit in which all together are less than endless."""
    free = {each for each in graph.outputs if isinstance(each, Value)}
    unit = max(1.0, 4 * sum(value.nbytes for value in values) / ENDLESS)
    return {v: 0 if v in free else max(1, round(v.nbytes / unit)) for v in values}
