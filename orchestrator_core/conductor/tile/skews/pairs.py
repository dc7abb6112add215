"""A pairwise value, and as which skews something else stands in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orchestrator_core.conductor.facts.lines.skew import Skew
from orchestrator_core.conductor.facts.lines.view import Whole
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.hoist import is_cast
from orchestrator_core.conductor.tile.skews.building import Building
from orchestrator_core.conductor.tile.skews.views import SkewedView

Producer = Mapping[Value, Node]


@dataclass(frozen=True)
class Pair:
    """Attributes:
    value: that is skewed. rows, columns: axes of it. pieces: which add up to the other value, whose
        axes are in the same order.
    """

    value: Atom
    rows: int
    columns: int
    pieces: tuple[Skew, ...]


def arranged(build: Building, given: Atom, found: SkewedView, shape: tuple[int, ...]) -> Atom:
    """A value with the axes of a skew's root in the order of the view's, of a shape."""
    axes = []
    for k, axis in enumerate(found.view.axes):
        if isinstance(axis, Whole):
            axes.append(axis.axis)
        elif axis is not None:
            axes.append(found.how.rows if k == found.how.out_rows else found.how.columns)
    left = [k for k in range(len(given.shape)) if k not in axes]
    return build.reshaped(build.transposed(given, [*axes, *left]), shape)


def pair_of(
    build: Building, atom: Atom, found: Mapping[Value, SkewedView], producer: Producer
) -> Pair | None:
    """What a value is a skew of, perhaps scaled or seen otherwise after that."""
    if not isinstance(atom, Value):
        return None
    if atom in found:
        return _viewed(build, atom, found[atom])
    node = producer.get(atom)
    if node is None or not (is_scaling(node, producer) or _is_view(node)):
        return None
    given = pair_of(build, node.inputs[0], found, producer)
    return None if given is None else _through(build, node, given)


def _viewed(build: Building, atom: Value, one: SkewedView) -> Pair:
    how, shape = one.how, list(atom.shape)
    shape[how.out_rows] = one.root.shape[how.rows]
    shape[how.out_columns] = one.root.shape[how.columns]
    value = arranged(build, one.root, one, tuple(shape))
    return Pair(value, how.out_rows, how.out_columns, how.pieces)


def _through(build: Building, node: Node, given: Pair) -> Pair:
    value, order = given.value, list(range(len(given.value.shape)))
    if node.name == "transpose":
        order = list(node.params["permutation"])
        value = build.transposed(value, order)
    elif node.name in RESHAPES:
        before, after = node.inputs[0].shape, node.output.shape
        real = [k for k, size in enumerate(before) if size != 1]
        left = iter(real)
        order = [-1 if size == 1 else next(left) for size in after]
        value = build.reshaped(value, [1 if k < 0 else value.shape[k] for k in order])
    else:
        value = build.like(node, [value, *node.inputs[1:]], value.shape)
    return Pair(value, order.index(given.rows), order.index(given.columns), given.pieces)


def _is_view(node: Node) -> bool:
    if node.name in RESHAPES:
        shapes = (node.inputs[0].shape, node.output.shape)
        before, after = ([size for size in shape if size != 1] for shape in shapes)
        return before == after
    return node.name == "transpose"


def is_scaling(node: Node, producer: Producer) -> bool:
    """Does it multiply its first operand with a number, so that zeros stay zeros?"""
    if node.name == "neg" or (node.name in ("convert_element_type", "copy") and is_cast(node)):
        return True
    if node.name not in ("mul", "div") or node.inputs[1].shape:
        return False
    number = everywhere(node.inputs[1], producer)
    if number is None or not math.isfinite(float(number)):
        return False
    return node.name == "mul" or bool(np.abs(number) > 0)
