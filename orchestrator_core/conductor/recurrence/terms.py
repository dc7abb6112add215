"""Terms: what stands at each place of an axis, as a formula of what stood where elsewhere.

A divide-and-conquer program shuffles slices along an axis and does the same to all places of a
slice. Followed place by place, shuffles vanish, and what is left are formulas.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator_core.conductor.facts.transfer.elementwise import ELEMENTWISE
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

NOTHING = -1
"""The number of what stands where a shuffle has put zeros."""


@dataclass(frozen=True)
class Leaf:
    """A place of a given array. `array`: which. `place`: along the axis."""

    array: int
    place: int


@dataclass(frozen=True)
class Formula:
    """What a node makes of the places of its inputs.

    Attributes:
        same: what all nodes have in common that do this. node: one of them, at any length of the
            axis. axis: of its result.
        inputs: numbers of terms; whatever does not depend on the place is an atom.
    """

    same: Hashable
    node: Node
    axis: int
    inputs: tuple[int | Atom, ...]


@dataclass
class Terms:
    """Attributes:
    all: the terms, by number. at: of each value, the axis, and the number at each place.
    """

    all: list[Leaf | Formula] = field(default_factory=list)
    at: dict[Value, tuple[int, np.ndarray]] = field(default_factory=dict)
    _known: dict[Hashable, int] = field(default_factory=dict)

    def number(self, key: Hashable, term: Leaf | Formula) -> int:
        if key not in self._known:
            self._known[key] = len(self.all)
            self.all.append(term)
        return self._known[key]


def terms_of(graph: Graph, arrays: Sequence[tuple[Value, int]]) -> Terms:
    """Of all that is made of slices of arrays along axes, up to where it is as long as those."""
    terms = Terms()
    for which, (value, axis) in enumerate(arrays):
        leaves = [Leaf(which, place) for place in range(value.shape[axis])]
        terms.at[value] = axis, np.array([terms.number(leaf, leaf) for leaf in leaves])
    length = arrays[0][0].shape[arrays[0][1]]
    for node in graph.nodes:
        if any(each in terms.at for each in node.inputs) and len(node.outputs) == 1:
            made = _made(graph, terms, node, length)
            if made is not None and node.output not in terms.at:
                terms.at[node.output] = made
    return terms


def _made(graph: Graph, terms: Terms, node: Node, length: int) -> tuple[int, np.ndarray] | None:
    first = node.inputs[0]
    if _is_same(node) and isinstance(first, Value):
        return terms.at.get(first)
    shuffle = {"slice": _slice, "pad": _pad, "concatenate": _concatenate}.get(node.name)
    found = None if shuffle is None else shuffle(terms, node)
    if found is not None:
        return found
    axis = _axis(terms, node)
    if axis is None:
        return None
    size = node.output.shape[axis]
    columns = [_column(graph, terms, each, size) for each in node.inputs]
    if any(column is None for column in columns):
        return None
    if node.name in ("add", "add_any", "or") and len(columns) == 2:
        merged = _merged(columns)
        if merged is not None:
            return axis, merged
    if size >= length or any(isinstance(c, np.ndarray) and NOTHING in c for c in columns):
        return None
    return axis, _formulas(terms, node, axis, columns, size)


def _is_same(node: Node) -> bool:
    """Does it make what it reads? So does JAX with numbers whose type Python has left open."""
    return node.name == "convert_element_type" and node.inputs[0].dtype == node.output.dtype


def _formulas(terms: Terms, node: Node, axis: int, columns: Sequence[Any], size: int) -> np.ndarray:
    same = _same(node, axis)
    numbers = np.empty(size, np.int64)
    for place in range(size):
        inputs = tuple(int(c[place]) if isinstance(c, np.ndarray) else c for c in columns)
        key = same, tuple(plain(each) for each in inputs)
        numbers[place] = terms.number(key, Formula(same, node, axis, inputs))
    return numbers


def plain(each: int | Atom) -> Hashable:
    """Literals are the same if their values are."""
    if isinstance(each, Literal):
        return "literal", str(each.value), str(each.aval)
    return each


def _same(node: Node, axis: int) -> Hashable:
    """What two nodes have in common that do the same at different lengths of the axis."""
    long = ("sharding", "shape", "new_sizes", "start_indices", "limit_indices")
    params = sorted((k, str(v)) for k, v in node.params.items() if k not in long)
    shape = tuple(n for k, n in enumerate(node.output.shape) if k != axis)
    bounds = [
        tuple(n for k, n in enumerate(node.params[name]) if k != axis)
        for name in ("start_indices", "limit_indices")
        if name in node.params
    ]
    return node.name, axis, shape, str(node.output.dtype), tuple(params), tuple(bounds)


def _column(graph: Graph, terms: Terms, atom: Atom, size: int) -> Any:
    """The numbers along the axis, or the atom if it is the same at each place."""
    if isinstance(atom, Literal) or atom not in terms.at:
        return _constant(graph, atom)
    _, numbers = terms.at[atom]
    return numbers if len(numbers) == size else None


def _constant(graph: Graph, atom: Atom) -> Atom | None:
    node = None if isinstance(atom, Literal) else graph.producer.get(atom)
    if node is not None and node.name == "broadcast_in_dim" and not node.inputs[0].shape:
        return node.inputs[0]
    return atom if not atom.shape else None


def _merged(columns: Sequence[Any]) -> np.ndarray | None:
    """Two interleaved columns put together: at each place one of them has nothing."""
    a, b = columns
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return None
    if not ((a == NOTHING) ^ (b == NOTHING)).all():
        return None
    return np.where(a == NOTHING, b, a)


def _slice(terms: Terms, node: Node) -> tuple[int, np.ndarray] | None:
    (operand,) = node.inputs
    if isinstance(operand, Literal) or operand not in terms.at:
        return None
    axis, numbers = terms.at[operand]
    start, stop = node.params["start_indices"], node.params["limit_indices"]
    step = node.params["strides"] or (1,) * len(start)
    given = operand.shape
    whole = [(s, e, k) == (0, n, 1) for s, e, k, n in zip(start, stop, step, given, strict=True)]
    if not all(each for k, each in enumerate(whole) if k != axis):
        return None
    return axis, numbers[start[axis] : stop[axis] : step[axis]]


def _pad(terms: Terms, node: Node) -> tuple[int, np.ndarray] | None:
    """With zeros, which are nothing if they are added to something later."""
    operand, value = node.inputs
    if operand not in terms.at or not isinstance(value, Literal) or value.value != 0:
        return None
    axis, numbers = terms.at[operand]
    config = node.params["padding_config"]
    low, high, inner = config[axis]
    if any(tuple(each) != (0, 0, 0) for k, each in enumerate(config) if k != axis):
        return None
    if low < 0 or high < 0:
        return None
    size = len(numbers) + inner * max(len(numbers) - 1, 0)
    made = np.full(low + size + high, NOTHING, np.int64)
    made[low : low + size : inner + 1] = numbers
    return axis, made


def _concatenate(terms: Terms, node: Node) -> tuple[int, np.ndarray] | None:
    found = [terms.at.get(each) for each in node.inputs if isinstance(each, Value)]
    if len(found) < len(node.inputs) or any(each is None for each in found):
        return None
    pairs = [each for each in found if each is not None]
    if {axis for axis, _ in pairs} != {node.params["dimension"]}:
        return None
    return node.params["dimension"], np.concatenate([numbers for _, numbers in pairs])


def _axis(terms: Terms, node: Node) -> int | None:
    """Of the result, if the node does the same at each place; None if not, or if nobody knows."""
    axes = [terms.at[each][0] if each in terms.at else None for each in node.inputs]
    known = {axis for axis in axes if axis is not None}
    if node.name in ELEMENTWISE:
        return known.pop() if len(known) == 1 else None
    if node.name == "dot_general":
        return _dot_axis(node, axes)
    (axis,) = known if len(known) == 1 else (None,)
    if axis is None or len(node.inputs) != 1:
        return None
    return _view_axis(node, axis)


def _dot_axis(node: Node, axes: Sequence[int | None]) -> int | None:
    (_, (left, right)) = node.params["dimension_numbers"]
    if axes[0] in left and axes[1] in right and left.index(axes[0]) == right.index(axes[1]):
        return int(left.index(axes[0]))
    return None


def _view_axis(node: Node, axis: int) -> int | None:
    if node.name == "broadcast_in_dim":
        return int(node.params["broadcast_dimensions"][axis])
    if node.name == "transpose":
        return int(node.params["permutation"].index(axis))
    gone = node.params.get("axes" if node.name.startswith("reduce_") else "dimensions", ())
    if node.name in ("reduce_sum", "reduce_max", "reduce_min", "squeeze") and axis not in gone:
        return axis - len([each for each in gone if each < axis])
    if node.name == "slice" and node.output.shape[axis] == node.inputs[0].shape[axis]:
        return axis
    return None
