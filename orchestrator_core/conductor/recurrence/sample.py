"""One cell of a program that does the same in each: what is done along one axis, in 64 bits.

Where operations shuffle one axis and are elementwise otherwise, the places along that axis with one
element each tell all. Such a program is a polynomial; two that agree in random numbers are the same
(Schwartz 1980).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

Cell: TypeAlias = NDArray[Any]
"""(n,) numbers along the axis, or a single number."""


@dataclass(frozen=True)
class Rule:
    """Attributes:
    does: the outputs, of a node, the axis and its operands. back: what comes back to the operands
        from what came to the outputs.
    """

    does: Callable[[Node, int, Sequence[Cell]], list[Cell]]
    back: Callable[[Node, int, Sequence[Cell], Sequence[Cell]], list[Cell]]


class Sample:
    """What is known of one cell, node by node.

    Args:
        axis: along which places are. given: the cells of values.
    """

    def __init__(self, axis: int, given: Mapping[Value, Cell]) -> None:
        self.axis = axis
        self.known: dict[Value, Cell] = dict(given)
        self.done: list[Node] = []

    def take(self, node: Node) -> None:
        """Do a node, if it is one of these operations on what is known."""
        rule = RULES.get(node.name)
        reads = any(each in self.known for each in node.inputs)
        if rule is None or not reads or any(output in self.known for output in node.outputs):
            return
        if not all(isinstance(i, Literal) or i in self.known for i in node.inputs):
            return
        if not _is_along(node, self.axis):
            return
        made = rule.does(node, self.axis, [self._cell(each) for each in node.inputs])
        self.known.update(zip(node.outputs, made, strict=True))
        self.done.append(node)

    def pulled_back(self, result: Value, cotangent: Cell) -> dict[Value, Cell]:
        """What comes back to each value from what came to a result."""
        found: dict[Value, Cell] = {result: cotangent}
        for node in reversed(self.done):
            if not any(output in found for output in node.outputs):
                continue
            came = [found.get(output, np.zeros_like(self.known[output])) for output in node.outputs]
            inputs = [self._cell(each) for each in node.inputs]
            parts = RULES[node.name].back(node, self.axis, inputs, came)
            for each, part in zip(node.inputs, parts, strict=True):
                if isinstance(each, Value):
                    found[each] = found.get(each, 0) + part
        return found

    def _cell(self, atom: Atom) -> Cell:
        return np.asarray(atom.value) if isinstance(atom, Literal) else self.known[atom]


def _is_along(node: Node, axis: int) -> bool:
    """Does the node leave all other axes as they are?"""
    shapes = [each.shape for each in (*node.inputs, *node.outputs) if each.shape]
    others = {tuple(n for k, n in enumerate(shape) if k != axis) for shape in shapes}
    if len(others) != 1:
        return False
    if node.name in ("concatenate", "split"):
        return bool(node.params["dimension" if node.name == "concatenate" else "axis"] == axis)
    if node.name == "slice":
        steps = node.params["strides"] or (1,) * len(shapes[0])
        return all(step == 1 for k, step in enumerate(steps) if k != axis)
    return True


def _sum_back(node: Node, axis: int, inputs: Sequence[Cell], came: Sequence[Cell]) -> list[Cell]:
    return [came[0] for _ in inputs]


def _mul_back(node: Node, axis: int, inputs: Sequence[Cell], came: Sequence[Cell]) -> list[Cell]:
    return [came[0] * inputs[1], came[0] * inputs[0]]


def _slice(node: Node, axis: int, inputs: Sequence[Cell]) -> list[Cell]:
    return [inputs[0][_cut(node, axis)]]


def _slice_back(node: Node, axis: int, inputs: Sequence[Cell], came: Sequence[Cell]) -> list[Cell]:
    made = np.zeros_like(inputs[0])
    made[_cut(node, axis)] = came[0]
    return [made]


def _cut(node: Node, axis: int) -> slice:
    step = 1 if node.params["strides"] is None else node.params["strides"][axis]
    return slice(node.params["start_indices"][axis], node.params["limit_indices"][axis], step)


def _pad(node: Node, axis: int, inputs: Sequence[Cell]) -> list[Cell]:
    places, inside = _padded(node, axis, len(inputs[0]))
    made = np.full(node.output.shape[axis], inputs[1], inputs[0].dtype)
    made[places[inside]] = inputs[0][inside]
    return [made]


def _pad_back(node: Node, axis: int, inputs: Sequence[Cell], came: Sequence[Cell]) -> list[Cell]:
    places, inside = _padded(node, axis, len(inputs[0]))
    made = np.zeros_like(inputs[0])
    made[inside] = came[0][places[inside]]
    return [made, np.asarray(0.0)]


def _padded(node: Node, axis: int, length: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where each element goes, and whether that is inside: padding may be negative."""
    low, _, between = (int(each) for each in node.params["padding_config"][axis])
    places = low + np.arange(length) * (between + 1)
    return places, (places >= 0) & (places < node.output.shape[axis])


def _split(node: Node, axis: int, inputs: Sequence[Cell]) -> list[Cell]:
    return list(np.split(inputs[0], np.cumsum(node.params["sizes"])[:-1]))


def _split_back(node: Node, axis: int, inputs: Sequence[Cell], came: Sequence[Cell]) -> list[Cell]:
    return [np.concatenate(came)]


def _concatenate(node: Node, axis: int, inputs: Sequence[Cell]) -> list[Cell]:
    return [np.concatenate(inputs)]


def _concatenate_back(
    node: Node, axis: int, inputs: Sequence[Cell], came: Sequence[Cell]
) -> list[Cell]:
    return list(np.split(came[0], np.cumsum([len(each) for each in inputs])[:-1]))


_ADD = Rule(lambda node, axis, inputs: [inputs[0] + inputs[1]], _sum_back)

RULES: Mapping[str, Rule] = {
    "add": _ADD,
    "add_any": _ADD,
    "sub": Rule(
        lambda node, axis, inputs: [inputs[0] - inputs[1]],
        lambda node, axis, inputs, came: [came[0], -came[0]],
    ),
    "neg": Rule(
        lambda node, axis, inputs: [-inputs[0]], lambda node, axis, inputs, came: [-came[0]]
    ),
    "mul": Rule(lambda node, axis, inputs: [inputs[0] * inputs[1]], _mul_back),
    "slice": Rule(_slice, _slice_back),
    "pad": Rule(_pad, _pad_back),
    "split": Rule(_split, _split_back),
    "concatenate": Rule(_concatenate, _concatenate_back),
}
