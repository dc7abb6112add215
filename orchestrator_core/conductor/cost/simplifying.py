"""What XLA's algebraic simplifier leaves out of a program or does elsewhere, as far as it counts in
operations or bytes. Seen on a CPU in 0.10.2."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.cost.batched import without_batches
from orchestrator_core.conductor.cost.fusion_facts import FREE
from orchestrator_core.conductor.cost.rules.reductions import BY_SORTING
from orchestrator_core.conductor.cost.sliced import is_sliced
from orchestrator_core.conductor.cost.standing_in import standing_in
from orchestrator_core.conductor.cost.thin_products import without_product
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

SPREADING = FREE | {"broadcast_in_dim", "convert_element_type", "transpose"}

NEUTRAL = {
    "mul": (1, (0, 1)),
    "div": (1, (1,)),
    "add": (0, (0, 1)),
    "add_any": (0, (0, 1)),
    "sub": (0, (1,)),
}
"""With which number an operation does nothing, and on which sides."""

FILLED_WITH = {"reduce_window_max": -np.inf, "reduce_window_min": np.inf, "reduce_window_sum": 0}
"""Of windows, the number that changes nothing in them."""


class Simplifier:
    """Of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def same_as(self, node: Node) -> Atom | None:
        """What a node makes, under another name; None if it does something."""
        number, sides = NEUTRAL.get(node.name, (0, ()))
        for side in sides:
            other = node.inputs[1 - side]
            if other.aval == node.output.aval and self._is(node.inputs[side], number):
                return other
        return None

    def instead_of(self, node: Node) -> list[Node]:
        """What is done instead."""
        if is_sliced(node, self.graph):
            return [dataclasses.replace(node, name=BY_SORTING)]
        if node.name in FILLED_WITH:
            return [self._filled_within(node)]
        if node.name == "stack":
            return [_joined(node)]
        if node.name == "reduce_sum":
            return self._negated_later(node) or [node]
        if node.name == "div":
            return self._inverse_first(node) or [node]
        if node.name == "mul":
            return self._chosen(node) or self._smaller_first(node) or [node]
        return without_batches(node) or without_product(node) or [node]

    def _negated_later(self, node: Node) -> list[Node]:
        """A sum of negatives is the negative of the sum."""
        maker = self._only_for(node.inputs[0], "neg")
        if maker is None:
            return []
        total = Value(node.output.aval)
        return [
            dataclasses.replace(node, inputs=maker.inputs, outputs=(total,)),
            dataclasses.replace(maker, inputs=(total,), outputs=node.outputs),
        ]

    def _filled_within(self, node: Node) -> Node:
        """Windows over what was filled up with the number that changes nothing in them, are those
        over what it was before."""
        maker = self._only_for(node.inputs[0], "pad")
        if maker is None or not self._is(maker.inputs[1], FILLED_WITH[node.name]):
            return node
        holes = (between + 1 for *_, between in maker.params["padding_config"])
        params = {**node.params, "base_dilation": tuple(holes)}
        return dataclasses.replace(node, inputs=maker.inputs[:1], params=params)

    def _chosen(self, node: Node) -> list[Node]:
        """A product with what is 1 or 0 is a choice."""
        for side in (0, 1):
            number = self._maker(node.inputs[side], "convert_element_type")
            if number is not None and number.inputs[0].dtype == bool:
                chosen = (number.inputs[0], node.inputs[1 - side])
                return [dataclasses.replace(node, name="select_n", inputs=chosen, params={})]
        return []

    def _smaller_first(self, node: Node) -> list[Node]:
        """Of (x 2) y, with a y that is broadcast, the product of 2 and y is taken first."""
        for side in (0, 1):
            scaled = self._only_for(node.inputs[side], "mul")
            spread = self._only_for(node.inputs[1 - side], "broadcast_in_dim")
            found = None if scaled is None else _apart(scaled)
            if spread is None or found is None or not 1 < spread.inputs[0].size < node.output.size:
                continue
            few, many = Value(spread.inputs[0].aval), Value(spread.output.aval)
            array, number = found
            return [
                dataclasses.replace(node, inputs=(spread.inputs[0], number), outputs=(few,)),
                dataclasses.replace(spread, inputs=(few,), outputs=(many,)),
                dataclasses.replace(node, inputs=(array, many)),
            ]
        return []

    def _inverse_first(self, node: Node) -> list[Node]:
        """Of x / y, with a y that is broadcast, the inverse of y is taken first; of x / 2 it is
        known."""
        if not _is_float(node):
            return []
        if isinstance(node.inputs[1], Literal):
            return [dataclasses.replace(node, name="mul")]
        spread = self._maker(node.inputs[1], "broadcast_in_dim")
        divisor = node.inputs[1] if spread is None else spread.inputs[0]
        if divisor.size == node.output.size:
            return []
        few = Value(divisor.aval)
        inverse = dataclasses.replace(node, name="integer_pow", params={"y": -1})
        made = [dataclasses.replace(inverse, inputs=(divisor,), outputs=(few,))]
        if spread is not None:
            many = Value(spread.output.aval)
            made.append(dataclasses.replace(spread, inputs=(few,), outputs=(many,)))
            few = many
        return [*made, dataclasses.replace(node, name="mul", inputs=(node.inputs[0], few))]

    def _maker(self, atom: Atom, name: str) -> Node | None:
        """What makes a value, if it has this name."""
        maker = self.graph.producer.get(atom) if isinstance(atom, Value) else None
        return maker if maker is not None and maker.name == name else None

    def _only_for(self, atom: Atom, name: str) -> Node | None:
        """What makes a value that one node reads, if it has this name."""
        maker = self._maker(atom, name)
        if maker is None or atom in self.graph.outputs:
            return None
        return maker if len(self.graph.consumers[maker.output]) == 1 else None

    def _is(self, atom: Atom, number: float) -> bool:
        """Are all its elements this number, as written in the program?"""
        while isinstance(atom, Value):
            maker = self.graph.producer.get(atom)
            if maker is None or maker.name not in SPREADING:
                return False
            atom = maker.inputs[0]
        return np.ndim(atom.value) == 0 and bool(atom.value == number)


def _joined(node: Node) -> Node:
    """Arrays that are stacked are joined, each with one more axis."""
    axis = node.params["axis"]
    return standing_in("concatenate", node, node.inputs, node.output, dimension=axis)


def _apart(scaled: Node) -> tuple[Atom, Literal] | None:
    """The array and the number of a product of both."""
    for side in (0, 1):
        number, array = scaled.inputs[side], scaled.inputs[1 - side]
        if isinstance(number, Literal) and np.ndim(number.value) == 0 and isinstance(array, Value):
            return array, number
    return None


def _is_float(node: Node) -> bool:
    return bool(jnp.issubdtype(node.output.dtype, jnp.inexact))


NAMES = {"gpu": "cuda"}
"""What JAX calls a platform where it lowers for it."""


def branch_of(node: Node, producer: Mapping[Value, Node], platform: str) -> Graph | None:
    """What a choice by platform does on one; None of other nodes."""
    index = node.inputs[0] if node.name == "cond" else None
    maker = producer.get(index) if isinstance(index, Value) else None
    if maker is None or maker.name != "platform_index":
        return None
    name = NAMES.get(platform, platform)
    choices: Any = enumerate(maker.params["platforms"])
    which = next((k for k, names in choices if names is None or name in names), None)
    return None if which is None else node.bodies[which]
