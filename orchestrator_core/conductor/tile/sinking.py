"""Arrays of rows that are made again for each tile, so that they are never kept as a whole.

So are embeddings divided by their norms: the function's own argument is there all the time, and
next to products of tiles a division of rows costs nothing. Only on CPUs: it was measured nowhere
else.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.tile.recipe import LIGHT, VIEWS

LEAST = 2**16
"""Elements of an array that is worth it."""

SMALL = 8
"""How often an operand must go into the result to cost no memory to speak of."""


_FOUND: WeakKeyDictionary[Dataflow, frozenset[Value]] = WeakKeyDictionary()
"""Every pass over a graph asks the same."""


def sunk(flow: Dataflow) -> frozenset[Value]:
    """All that is made element by element of the graph's inputs, and of what is much smaller."""
    if this_device().platform != "cpu":
        return frozenset()
    if flow not in _FOUND:
        _FOUND[flow] = _made_of_inputs(flow)
    return _FOUND[flow]


def _made_of_inputs(flow: Dataflow) -> frozenset[Value]:
    found: set[Value] = set()
    there = set(flow.graph.inputs)

    def costs_nothing(atom: Atom, size: int) -> bool:
        while not (isinstance(atom, Literal) or atom in there or atom in found):
            node = flow.node_of(atom)
            if node is None or node.name not in VIEWS:
                return atom.size * SMALL <= size
            atom = node.inputs[0]
        return True

    for node in flow.graph.nodes:
        size = node.outputs[0].size if node.name in LIGHT else 0
        if size >= LEAST and all(costs_nothing(each, size) for each in node.inputs):
            found.add(node.output)
    return frozenset(found)
