"""Arrays moved on by one along an axis, with a number in the place that is free then.

However they are cut and added to: seen as a view of what is moved, an axis has one more of them at
one end and is cut by one at the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator_core.conductor.facts.lines.moves import Producer, given_of, moved
from orchestrator_core.conductor.facts.lines.view import View, Whole, itself
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.split import as_slices
from orchestrator_core.conductor.ir.value import Atom, Value

MOST = 12
"""Operations by which an array is moved on by one; it takes two, and some more that turn its axes.
Of chains of thousands each value would be followed to the beginning."""


@dataclass(frozen=True)
class Shift:
    """Attributes:
    given: what is moved. axis: along which. by: 1, or -1 towards the first element.
    number: in the free place.
    """

    given: Value
    axis: int
    by: int
    number: Any


def shift_of(atom: Atom, producer: Producer) -> Shift | None:
    """As which a value is made, of the nearest that it is one of; None if it is made otherwise, or
    by more than `MOST` operations."""
    steps: list[Node] = []
    while len(steps) < MOST and (node := _maker(atom, producer)) is not None:
        given = given_of(node, producer)
        if given is None:
            return None
        steps.append(node)
        atom, view = given, itself(given.shape)
        for each in reversed(steps):
            after = moved(each, view, producer)
            if after is None:
                return None
            view = after
        found = _shift(given, view)
        if found is not None:
            return found
    return None


def _maker(atom: Atom, producer: Producer) -> Node | None:
    """Of a part of a split, what cuts it out."""
    node = producer.get(atom) if isinstance(atom, Value) else None
    if node is None or node.name != "split":
        return node
    return next(each for each in as_slices(node) if each.output is atom)


def _shift(given: Value, view: View) -> Shift | None:
    if view.line is not None or len(view.axes) != len(given.shape):
        return None
    changed: list[Whole] = []
    for k, axis in enumerate(view.axes):
        if isinstance(axis, Whole) and axis.axis != k:
            return None
        if isinstance(axis, Whole) and not axis.is_as_it_is:
            changed.append(axis)
    if len(changed) != 1:
        return None
    (one,) = changed
    is_one = (one.low, one.high) in ((1, -1), (-1, 1))
    return Shift(given, one.axis, one.low, view.number) if is_one else None
