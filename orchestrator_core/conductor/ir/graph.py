"""Graphs: nodes in the order of evaluation."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value


@dataclass(frozen=True, eq=False)
class Graph:
    """A function of arrays: what it takes, does, and returns. Frozen; rewrites make new ones.

    Attributes:
        constants: arrays that are part of the program.
        nodes: producers before consumers, and those with effects in the program's order.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Atom, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[Value, Any]

    @cached_property
    def found(self) -> dict[Hashable, Any]:
        """What was found out about it that is dear to find out again; it goes when the graph does.
        See `found_once`."""
        return {}

    @cached_property
    def producer(self) -> Mapping[Value, Node]:
        """Who makes each value that a node makes."""
        return {value: node for node in self.nodes for value in node.outputs}

    @cached_property
    def consumers(self) -> Mapping[Value, Sequence[Node]]:
        """Who reads each value; a node that reads it twice is there once."""
        readers: defaultdict[Value, list[Node]] = defaultdict(list)
        for node in self.nodes:
            for value in dict.fromkeys(each for each in node.inputs if isinstance(each, Value)):
                readers[value].append(node)
        return readers

    @cached_property
    def places(self) -> Mapping[Node, int]:
        """Where in `nodes` each of them is."""
        return {node: place for place, node in enumerate(self.nodes)}

    @property
    def is_effectful(self) -> bool:
        return any(node.effects for node in self.nodes)

    def with_nodes(self, nodes: Iterable[Node]) -> Graph:
        """The same function, as these nodes do it: sorted, and without what nobody needs."""
        return pruned(dataclasses.replace(self, nodes=in_order(tuple(nodes))))

    def walk(self) -> Iterator[tuple[Graph, Node]]:
        """All nodes, and the graph that each is in; bodies of loops included, after the loop."""
        for node in self.nodes:
            yield self, node
            for body in node.bodies:
                yield from body.walk()


def pruned(graph: Graph) -> Graph:
    """Without nodes that have no effect and whose results nobody reads, and without constants that
    nobody needs then."""
    needed = {each for each in graph.outputs if isinstance(each, Value)}
    kept = []
    for node in reversed(graph.nodes):
        if node.effects or not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(each for each in node.inputs if isinstance(each, Value))
    constants = {value: array for value, array in graph.constants.items() if value in needed}
    if len(kept) == len(graph.nodes) and len(constants) == len(graph.constants):
        return graph
    return dataclasses.replace(graph, nodes=tuple(reversed(kept)), constants=constants)


def in_order(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Producers first; otherwise in the order given, and never two with effects the other way.

    Raises:
        ValueError: if the nodes need each other in a circle.
    """
    producer = {value: node for node in nodes for value in node.outputs}
    ordered: dict[Node, None] = {}
    open_: dict[Node, Iterator[Node]] = {}
    before = _previous_effects(nodes)
    for root in nodes:
        stack = [root] if root not in ordered else []
        while stack:
            node = stack[-1]
            if node not in open_:
                needs = [producer[i] for i in node.inputs if isinstance(i, Value) and i in producer]
                open_[node] = iter([*needs, *before.get(node, ())])
            ahead = next((each for each in open_[node] if each not in ordered), None)
            if ahead is None:
                ordered[stack.pop()] = None
            elif ahead in open_:
                raise ValueError(f"{ahead.name} needs itself")
            else:
                stack.append(ahead)
    return tuple(ordered)


def complete(graph: Graph) -> None:
    """Is all there that is read, in bodies of loops, too?

    Raises:
        ValueError: if not; such a graph could not be run.
    """
    known = {*graph.inputs, *graph.constants}
    for node in graph.nodes:
        _all_known(known, node.inputs, node.name)
        known.update(node.outputs)
        for body in node.bodies:
            complete(body)
    _all_known(known, graph.outputs, "the result")


def _all_known(known: set[Value], atoms: Iterable[Atom], reader: str) -> None:
    for each in atoms:
        if isinstance(each, Value) and each not in known:
            raise ValueError(f"nobody makes {each}, which {reader} reads")


def _previous_effects(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    effectful = [node for node in nodes if node.effects]
    return {node: [last] for last, node in itertools.pairwise(effectful)}
