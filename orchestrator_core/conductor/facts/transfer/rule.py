"""Rules: what an operation needs for a tile of its result, and what becomes of a tile it is given.

The default of an operation that has no rule: it cannot be tiled, and is computed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.ir.node import Node


@dataclass(frozen=True)
class Onward:
    """Attributes:
    out: spec of the result. inputs: of all operands. reduced: roles that the result has lost.
    """

    out: Spec
    inputs: tuple[Spec, ...]
    reduced: frozenset[Role] = frozenset()


Back: TypeAlias = Callable[[Node, Spec], Sequence[Spec]]
"""Of a node and a spec of its result: the specs of its operands. Raises `Untileable`."""

Forward: TypeAlias = Callable[[Node, int, Spec], Onward]
"""Of a node, the place of an operand, and its spec. Raises `Untileable`."""

TileOf: TypeAlias = Callable[[Node, Spec, Sequence[Any], Tile], Any]
"""The tile of the result, from those of the operands."""


def as_it_is(node: Node, spec: Spec, arrays: Sequence[Any], tile: Tile) -> Any:
    """The same operation with the same parameters, on tiles."""
    return node.apply(arrays)[0]


def _no_back(node: Node, spec: Spec) -> Sequence[Spec]:
    raise Untileable(f"{node.name} is not done in tiles")


def _no_forward(node: Node, place: int, spec: Spec) -> Onward:
    raise Untileable(f"{node.name} is not done in tiles")


@dataclass(frozen=True)
class Rule:
    """Attributes:
    sums: does it combine the elements of an axis, so that tiles of it can be accumulated?
    """

    back: Back = _no_back
    forward: Forward = _no_forward
    evaluate: TileOf = as_it_is
    sums: bool = False


RULES: dict[str, Rule] = {}
"""By the name of the primitive."""

_DEFAULT = Rule()


def rule_of(node: Node) -> Rule:
    return RULES.get(node.name, _DEFAULT) if len(node.outputs) == 1 else _DEFAULT


def through(back: Back, out: Callable[[Node, int, Spec], Spec]) -> Forward:
    """The way forward of an operation that keeps all roles, from its way back."""

    def forward(node: Node, place: int, spec: Spec) -> Onward:
        made = out(node, place, spec)
        return Onward(made, tuple(back(node, made)))

    return forward
