"""Periods: where a program does the same again and again, as unrolled Python loops do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

LONGEST = 64
"""Operations in one turn."""

FEWEST = 8
"""Turns that are worth a loop."""

WHERE = ("start_indices", "limit_indices", "sharding")
"""Parameters that say where something is read, not what is done."""


@dataclass(frozen=True, eq=False)
class Turns:
    """Blocks of nodes that follow each other, each of the same operations in the same order."""

    blocks: tuple[tuple[Node, ...], ...]

    @property
    def count(self) -> int:
        return len(self.blocks)

    def column(self, place: int) -> list[Node]:
        """The nodes at one place of all blocks."""
        return [block[place] for block in self.blocks]


def turns(graph: Graph) -> list[Turns]:
    """The longest stretch of a graph that repeats, at all places where a block may begin; empty if
    there is none."""
    numbers = _numbers(graph.nodes)
    best, at, period = 0, 0, 0
    for candidate in range(1, min(LONGEST, len(numbers) // FEWEST) + 1):
        start, length = _longest_run(numbers[candidate:] == numbers[:-candidate])
        if length + candidate > best + period and length >= (FEWEST - 1) * candidate:
            best, at, period = length, start, candidate
    if not period:
        return []
    found = []
    for shift in range(period):
        count = (best + period - shift) // period
        if count >= FEWEST:
            blocks = [graph.nodes[at + shift + k * period :][:period] for k in range(count)]
            found.append(Turns(tuple(map(tuple, blocks))))
    return found


def _numbers(nodes: Sequence[Node]) -> np.ndarray:
    """The same number for nodes that do the same."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(_what(node), len(known)) for node in nodes], np.int64)


def _what(node: Node) -> Hashable:
    if node.bodies or node.effects or node.primitive is None:
        return node
    params = tuple(sorted((k, str(v)) for k, v in node.params.items() if k not in WHERE))
    return node.name, params, tuple(map(_type, node.inputs)), tuple(map(_type, node.outputs))


def _type(atom: Atom) -> Hashable:
    return atom.shape, str(atom.dtype), isinstance(atom, Value)


def _longest_run(flags: np.ndarray) -> tuple[int, int]:
    """Where the longest run of true ones begins, and how long it is."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    k = int(np.argmax(ends - starts))
    return int(starts[k]), int(ends[k] - starts[k])
