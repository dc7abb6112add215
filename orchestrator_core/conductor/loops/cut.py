"""The cheapest way to have values again: keep some, do the rest again.

A minimum cut (project selection, J.-C. Picard, "Maximal closure of a graph", 1976): every value has
a price of keeping it, every node a price of doing it again, and whoever is done again needs what it
reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.minimum_cut import ENDLESS, behind

NEVER = math.inf
"""The price of what must not be done."""

WHOLE = ENDLESS // 2
"""Steps into which all prices together are divided."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Attributes:
    kept: values that are read from where they were kept. redone: nodes that are done again, in
        order; with what is kept they make all values that were asked for.
    price: of keeping and doing again.
    """

    kept: tuple[Value, ...]
    redone: tuple[Node, ...]
    price: float

    def of(self, values: Iterable[Value]) -> Cut:
        """Only what these values need."""
        needed = dict.fromkeys(values)
        redone = []
        for node in reversed(self.redone):
            if not needed.keys().isdisjoint(node.outputs):
                redone.append(node)
                needed.update(dict.fromkeys(i for i in node.inputs if isinstance(i, Value)))
        kept = tuple(value for value in self.kept if value in needed)
        return Cut(kept, tuple(reversed(redone)), self.price)


def cheapest_cut(
    graph: Graph,
    needed: Iterable[Value],
    keeping: Callable[[Value], float],
    redoing: Callable[[Node], float],
) -> Cut | None:
    """The cheapest; of equally cheap ones that which does the least again. None if whatever could
    be done has the price `NEVER`."""
    network = _Network()
    wanted = tuple(dict.fromkeys(needed))
    nodes = _ancestors(graph, wanted)
    for value in wanted:
        network.edge(value, _GOAL, NEVER)
    for node in nodes:
        network.edge(_START, node, redoing(node))
        for value in node.outputs:
            network.edge(node, value, keeping(value))
        for atom in node.inputs:
            if isinstance(atom, Value):
                network.edge(atom, node, NEVER)
                if atom not in graph.producer:
                    network.edge(_START, atom, keeping(atom))
    for value in wanted:
        if value not in graph.producer:
            network.edge(_START, value, keeping(value))
    again = network.side_of_goal()
    if again is None:
        return None
    redone = tuple(node for node in nodes if node in again)
    kept = _kept(graph, wanted, redone)
    price = sum(map(keeping, kept)) + sum(map(redoing, redone))
    return Cut(kept, redone, price)


def _ancestors(graph: Graph, values: Iterable[Value]) -> list[Node]:
    """All nodes that the values need, in the graph's order."""
    needed = set(values)
    found = []
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            found.append(node)
            needed.update(each for each in node.inputs if isinstance(each, Value))
    return found[::-1]


def _kept(graph: Graph, wanted: Iterable[Value], redone: tuple[Node, ...]) -> tuple[Value, ...]:
    read = [atom for node in redone for atom in node.inputs if isinstance(atom, Value)]
    again = set(redone)
    return tuple(
        value for value in dict.fromkeys([*wanted, *read]) if graph.producer.get(value) not in again
    )


_START, _GOAL = object(), object()


@dataclass
class _Network:
    """Edges with capacities between any objects."""

    index: dict[object, int] = field(default_factory=lambda: {_START: 0, _GOAL: 1})
    capacity: dict[tuple[int, int], float] = field(default_factory=dict)

    def edge(self, tail: object, head: object, capacity: float) -> None:
        self.capacity[self._at(tail), self._at(head)] = capacity

    def _at(self, each: object) -> int:
        return self.index.setdefault(each, len(self.index))

    def side_of_goal(self) -> set[object] | None:
        """What is on the goal's side of the minimum cut that is nearest to the goal; None if
        every cut has an edge that must not be cut."""
        found = behind(self._in_steps(), self.index[_START], self.index[_GOAL])
        if found is None:
            return None
        known = list(self.index)
        return {known[k] for k in found}

    def _in_steps(self) -> dict[tuple[int, int], int]:
        total = sum(each for each in self.capacity.values() if each < NEVER) or 1.0
        return {
            edge: ENDLESS if each == NEVER else math.ceil(each / total * WHOLE)
            for edge, each in self.capacity.items()
        }
