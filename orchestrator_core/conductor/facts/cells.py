"""Cells: what is computed apart for each element of some axes, such as for each head.

Axes of one value get roles, and these are followed both ways through the graph. Then each cell is
derived backward from the results, so a wrong guess is refused and never makes a wrong value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable, roles, untiled
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer import Onward, rule_of
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

Key: TypeAlias = tuple[Value, Spec]
"""A value, and how cells cut it."""


def followed(graph: Graph, seeds: Mapping[Value, Spec]) -> dict[Value, Spec]:
    """Specs of all values that the roles of the seeds run through."""
    specs: dict[Value, Spec] = {}
    work: list[tuple[Atom, Spec]] = list(seeds.items())
    while work:
        atom, spec = work.pop()
        if isinstance(atom, Literal) or atom in specs or not roles(spec):
            continue
        specs[atom] = spec
        work += _around(graph, atom, spec)
    return specs


def _around(graph: Graph, value: Value, spec: Spec) -> list[tuple[Atom, Spec]]:
    found: list[tuple[Atom, Spec]] = []
    maker = graph.producer.get(value)
    if maker is not None:
        found += _back(maker, spec)
    for reader in graph.consumers[value]:
        for place, given in enumerate(reader.inputs):
            if given is value:
                found += _onward(reader, place, spec)
    return found


def _back(node: Node, spec: Spec) -> list[tuple[Atom, Spec]]:
    try:
        return list(zip(node.inputs, rule_of(node).back(node, spec), strict=True))
    except Untileable:
        return []


def _onward(node: Node, place: int, spec: Spec) -> list[tuple[Atom, Spec]]:
    try:
        onward: Onward = rule_of(node).forward(node, place, spec)
    except Untileable:
        return []
    return [*zip(node.inputs, onward.inputs, strict=True), (node.output, onward.out)]


@dataclass(frozen=True)
class CellStep:
    """Attributes:
    node: what is done. made: what it makes. inputs: what it reads.
    """

    node: Node
    made: Key
    inputs: tuple[Key | Literal, ...]


@dataclass(frozen=True)
class Cells:
    """Attributes:
    graph: whose. wanted: the results, as each cell makes them.
    leaves: what a cell reads of the graph's inputs and constants. steps: what it does, in order.
    """

    graph: Graph
    wanted: tuple[Key | Literal, ...]
    leaves: tuple[Key, ...]
    steps: tuple[CellStep, ...]

    @classmethod
    def of(cls, graph: Graph, wanted: Sequence[tuple[Atom, Spec]]) -> Cells:
        """Raises:
        Untileable: if a cell cannot be computed apart.
        """
        keys = tuple(_key(atom, spec) for atom, spec in wanted)
        leaves: dict[Key, None] = {}
        steps: dict[Key, CellStep] = {}
        stack = [key for key in reversed(keys) if not isinstance(key, Literal)]
        while stack:
            key = stack[-1]
            step = None if key in leaves or key in steps else _step(graph, key)
            ahead = _open(step, leaves, steps) if step is not None else []
            if ahead:
                stack += ahead
                continue
            stack.pop()
            if step is not None:
                steps[key] = step
            elif key not in steps:
                leaves[key] = None
        return cls(graph, keys, tuple(leaves), tuple(steps.values()))

    def spec_of(self, value: Value) -> Spec:
        """How a cell reads an input; of one that it does not read, none of it.

        Raises:
            Untileable: if it reads it in two ways.
        """
        specs = [spec for leaf, spec in self.leaves if leaf is value]
        if len(specs) > 1:
            raise Untileable("cells read each other's values")
        return specs[0] if specs else untiled(value.shape)

    @property
    def results(self) -> tuple[Spec, ...]:
        """How cells cut the results."""
        keys = self.wanted
        return tuple(untiled(k.shape) if isinstance(k, Literal) else k[1] for k in keys)

    @property
    def count(self) -> dict[Role, int]:
        """Cells along each role."""
        parts = sorted({part for spec in self.results for axis in spec for part in axis}, key=str)
        return {role: size for size, role in parts if role is not None}

    def evaluate(self, inputs: Mapping[Value, Any], tile: Tile) -> list[Any]:
        """The results of one cell, from what it reads."""
        known: dict[Key, Any] = {key: inputs[key[0]] for key in self.leaves}
        for step in self.steps:
            arrays = [_array(known, key) for key in step.inputs]
            evaluate = rule_of(step.node).evaluate
            known[step.made] = evaluate(step.node, step.made[1], arrays, tile)
        return [_array(known, key) for key in self.wanted]


def _key(atom: Atom, spec: Spec) -> Key | Literal:
    return atom if isinstance(atom, Literal) else (atom, spec)


def _step(graph: Graph, key: Key) -> CellStep | None:
    node = graph.producer.get(key[0])
    if node is None:
        return None
    specs = rule_of(node).back(node, key[1])
    return CellStep(node, key, tuple(map(_key, node.inputs, specs)))


def _open(step: CellStep, leaves: Mapping[Key, None], steps: Mapping[Key, CellStep]) -> list[Key]:
    """What it reads that is not known yet."""
    keys = [key for key in step.inputs if not isinstance(key, Literal)]
    return [key for key in keys if key not in leaves and key not in steps]


def _array(known: Mapping[Key, Any], key: Key | Literal) -> Any:
    return key.value if isinstance(key, Literal) else known[key]


def without_role(spec: Spec, role: Role) -> Spec:
    """The same, with the role's part whole."""
    return tuple(tuple((n, None if r == role else r) for n, r in axis) for axis in spec)
