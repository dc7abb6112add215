"""Recipes: which operations on tiles make the wanted tiles, found once, from demand backwards.

A tile is made from tiles of the operands, as far back as operations can be tiled and what they read
has both roles. What is there already as a whole is cut: that is a leaf. So nothing but a leaf must
ever be right about what belongs to a region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from orchestrator_core.conductor.facts.axes import Spec, Untileable, roles
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

VIEWS = ("broadcast_in_dim", "transpose", *RESHAPES)

Key: TypeAlias = tuple[Value, Spec]
"""A value, and how tiles cut it."""

Wanted: TypeAlias = Key | Literal


def key_of(atom: Atom, spec: Spec) -> Wanted:
    return atom if isinstance(atom, Literal) else (atom, spec)


@dataclass(frozen=True)
class Step:
    """Attributes:
    node: what is done. made: what it makes. inputs: what it reads.
    """

    node: Node
    made: Key
    inputs: tuple[Wanted, ...]

    @property
    def spec(self) -> Spec:
        return self.made[1]


@dataclass(frozen=True)
class Recipe:
    """Attributes:
    leaves: what is cut out of values that are there. steps: in order.
    """

    leaves: tuple[Key, ...]
    steps: tuple[Step, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        """What must be there as a whole."""
        return tuple(dict.fromkeys(value for value, _ in self.leaves))

    def tiles(self, read: Callable[[Key], Any], tile: Tile) -> Mapping[Key, Any]:
        """All tiles at one place; `read` cuts leaves."""
        known = {key: read(key) for key in self.leaves}
        for step in self.steps:
            arrays = [_array(known, each) for each in step.inputs]
            known[step.made] = rule_of(step.node).evaluate(step.node, step.spec, arrays, tile)
        return known


def _array(known: Mapping[Key, Any], wanted: Wanted) -> Any:
    return wanted.value if isinstance(wanted, Literal) else known[wanted]


def recipe_of(flow: Dataflow, wanted: Iterable[Wanted]) -> Recipe:
    """How all that is wanted is made."""
    leaves: dict[Key, None] = {}
    steps: dict[Key, Step] = {}
    stack = [each for each in wanted if not isinstance(each, Literal)]
    while stack:
        key = stack[-1]
        if key in leaves or key in steps:
            stack.pop()
            continue
        step = _step(flow, key)
        if step is None:
            leaves[stack.pop()] = None
            continue
        ahead = [
            each
            for each in step.inputs
            if not isinstance(each, Literal) and each not in leaves and each not in steps
        ]
        if ahead:
            stack += ahead
        else:
            steps[stack.pop()] = step
    return Recipe(tuple(leaves), tuple(steps.values()))


def _step(flow: Dataflow, key: Key) -> Step | None:
    """What makes a tile from tiles; None of a leaf."""
    value, spec = key
    node, count = flow.node_of(value), len(roles(spec))
    if node is None or (count < 2 and not _is_free(flow, value, node)):
        return None
    if count == 0 and not (flow.is_cheap(value) and value.size == 1):
        return None
    try:
        specs: Sequence[Spec] = rule_of(node).back(node, spec)
    except Untileable:
        return None
    return Step(node, key, tuple(map(key_of, node.inputs, specs)))


def _is_free(flow: Dataflow, value: Value, node: Node) -> bool:
    """Is a tile made in no time, so that the whole need not be there? So are positions, and what
    only stands elsewhere, or several times, in another value."""
    return node.name in VIEWS or flow.is_cheap(value)
