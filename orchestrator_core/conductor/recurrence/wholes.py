"""What puts together, at the end of an unrolled loop, what its turns have made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

Place = tuple[int, int]
"""A node of a block, and which of its results."""


@dataclass(frozen=True)
class Whole:
    """A node that puts together what all turns have made at one place, in order, and other things
    before and after it."""

    node: Node
    place: Place
    before: tuple[Atom, ...]
    after: tuple[Atom, ...]

    def made(self, before: Sequence[Any], ys: Any, after: Sequence[Any]) -> Any:
        """What the node makes, of the same values along axis 0."""
        params = self.node.params
        if self.node.name == "stack":
            axis = params["axis"]
            middle = jnp.moveaxis(ys, 0, axis)
        else:
            axis = params["dimension"]
            middle = jnp.moveaxis(jnp.squeeze(ys, axis + 1), 0, axis)
        join: Any = getattr(jnp, self.node.name)
        sides = [[join(side, axis)] if side else [] for side in (before, after)]
        return jnp.concatenate([*sides[0], middle, *sides[1]], axis)


def wholes_of(
    graph: Graph,
    count: int,
    made: Sequence[Mapping[Value, Place]],
    shown: Mapping[Place, Mapping[int, Value]],
) -> Iterator[Whole]:
    """All such nodes.

    Args:
        made: of each of `count` turns, what it makes, and where. shown: at each place, what is read
            outside, by turn.
    """
    inside = {value for turn in made for value in turn}
    for place, values in shown.items():
        turns = [values.get(k) for k in range(count)]
        first = turns[0]
        if first is None:
            continue
        for node in graph.consumers.get(first, ()):
            flat = node.name == "concatenate" and first.shape[node.params["dimension"]] == 1
            start = node.inputs.index(first)
            if (node.name != "stack" and not flat) or list(node.inputs[start:][:count]) != turns:
                continue
            before, after = node.inputs[:start], node.inputs[start + count :]
            if inside.isdisjoint((*before, *after)):
                yield Whole(node, place, before, after)
