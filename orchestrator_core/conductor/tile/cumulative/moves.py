"""Arrays moved on by one along an axis, with a number in the place that is free then.

However they are cut and added to: each array is looked at as a piece of the first one, somewhere
along an axis on which there is nothing else but that number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

Producer = Mapping[Value, Node]


@dataclass(frozen=True)
class Move:
    """Attributes:
    given: what is moved. axis: along which. by: so many places on. begin, end: where elements of
        it are, of so many in all. number: what all others are; None if there are none.
    """

    given: Atom
    axis: int
    by: int
    begin: int
    end: int
    size: int
    number: float | None = None

    @property
    def is_next(self) -> bool:
        """By one place, and nothing else is lost or added?"""
        return self._is_one(1, 1, self.size)

    @property
    def is_previous(self) -> bool:
        return self._is_one(-1, 0, self.size - 1)

    def _is_one(self, by: int, begin: int, end: int) -> bool:
        is_as_long = self.size == self.given.shape[self.axis]
        return is_as_long and (self.by, self.begin, self.end) == (by, begin, end)

    def within(self, low: int, high: int, number: float | None) -> Move | None:
        """With so many elements more, or less, at both ends; None if the number is another."""
        if number is not None and self.number not in (None, number):
            return None
        size = self.size + low + high
        begin, end = (min(max(each + low, 0), size) for each in (self.begin, self.end))
        kept = self.number if number is None else number
        return Move(self.given, self.axis, self.by + low, begin, end, size, kept)


def move_of(value: Atom, producer: Producer) -> Move | None:
    """As which a value is made; None if it is made otherwise, or along several axes."""
    found = _changed(value, producer)
    if found is None:
        return None
    axis, given, low, high, number = found
    before = move_of(given, producer)
    if before is None or before.axis != axis:
        size = given.shape[axis]
        before = Move(given, axis, 0, 0, size, size)
    return before.within(low, high, number)


def made_by(atom: Atom, producer: Producer) -> Node | None:
    return producer.get(atom) if isinstance(atom, Value) else None


_Change = tuple[int, Atom, int, int, float | None]
"""Along which axis, of what, so many elements more or less at both ends, and which number."""


def _changed(value: Atom, producer: Producer) -> _Change | None:
    node = made_by(value, producer)
    if node is None:
        return None
    if node.name == "split":
        return _part(node, node.outputs.index(value))
    if node.name == "pad":
        return _padded(node, producer)
    if node.name == "slice":
        return _cut(node)
    return _joined(node, producer) if node.name == "concatenate" else None


def _padded(node: Node, producer: Producer) -> _Change | None:
    given, config = node.inputs[0], [tuple(each) for each in node.params["padding_config"]]
    axes = [axis for axis, each in enumerate(config) if each != (0, 0, 0)]
    if len(axes) != 1 or config[axes[0]][2]:
        return None
    low, high, _ = config[axes[0]]
    number = _number(node.inputs[1], producer) if max(low, high) > 0 else None
    return None if number is None and max(low, high) > 0 else (axes[0], given, low, high, number)


def _cut(node: Node) -> _Change | None:
    given, strides = node.inputs[0], node.params["strides"]
    if strides is not None and any(each != 1 for each in strides):
        return None
    bounds = zip(
        node.params["start_indices"], node.params["limit_indices"], given.shape, strict=True
    )
    ends = [(-first, last - size) for first, last, size in bounds]
    axes = [axis for axis, each in enumerate(ends) if each != (0, 0)]
    if len(axes) > 1:
        return None
    axis = axes[0] if axes else len(ends) - 1
    return axis, given, *ends[axis], None


def _part(node: Node, place: int) -> _Change:
    sizes = node.params["sizes"]
    return node.params["axis"], node.inputs[0], -sum(sizes[:place]), -sum(sizes[place + 1 :]), None


def _joined(node: Node, producer: Producer) -> _Change | None:
    """One element, the same number everywhere, before or after an array."""
    axis = node.params["dimension"]
    if len(node.inputs) != 2:
        return None
    first, second = node.inputs
    if first.shape[axis] == 1:
        given, number, ends = second, _number(first, producer), (1, 0)
    elif second.shape[axis] == 1:
        given, number, ends = first, _number(second, producer), (0, 1)
    else:
        return None
    return None if number is None else (axis, given, *ends, number)


def _number(atom: Atom, producer: Producer) -> float | None:
    """Converted, it is no other."""
    maker = made_by(atom, producer)
    while maker is not None and maker.name == "convert_element_type":
        atom = maker.inputs[0]
        maker = made_by(atom, producer)
    found = everywhere(atom, producer)
    return None if found is None or np.iscomplexobj(found) else float(found)
