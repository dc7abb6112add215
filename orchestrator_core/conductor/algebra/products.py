"""Products of one array with several others, as one product: queries, keys and values.

    x @ a, x @ b, x @ c     becomes     x @ [a b c], cut in three

The sums are the same, in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import written


def groups(graph: Graph) -> Iterator[tuple[int, list[Value]]]:
    """Products that may be merged, as none of them needs another's result; and the side on which
    all of them have the same array."""
    alike: defaultdict[tuple[int, Hashable], list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for side in (0, 1):
            key = _key(node, side) if node.name == "dot_general" else None
            if key is not None:
                alike[side, key].append(node)
    taken: set[Node] = set()
    for (side, _), nodes in alike.items():
        group = independent(graph, [n for n in nodes if n not in taken], side)
        if len(group) > 1:
            taken.update(group)
            yield side, [node.output for node in group]


def _key(node: Node, side: int) -> Hashable | None:
    """What must be equal: the array on this side, and how it is multiplied."""
    summed, (batch, _) = node.params["dimension_numbers"]
    same, other = node.inputs[side], node.inputs[1 - side]
    if batch or same is other or not all(isinstance(each, Value) for each in node.inputs):
        return None
    types = (other.dtype, node.output.dtype)
    return (same, tuple(summed[side]), types, str(node.params["precision"]))


def independent(graph: Graph, nodes: Sequence[Node], side: int) -> list[Node]:
    """Those whose other arrays are there before any of them is computed."""
    if len(nodes) < 2:
        return []
    later = _made_of(graph, nodes)
    return [node for node in nodes if node.inputs[1 - side] not in later]


def _made_of(graph: Graph, nodes: Sequence[Node]) -> set[Atom]:
    """What these make, and all that needs it, up to the last of them: what stands before the first
    needs none of them, and what stands after the last none of them needs."""
    places = [graph.places[node] for node in nodes]
    found: set[Atom] = {value for node in nodes for value in node.outputs}
    for node in graph.nodes[min(places) : max(places) + 1]:
        if not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def as_one(group: Sequence[Node], side: int) -> Graph:
    """What stands for products that have the same array on one side."""
    read = [each for node in group for each in node.inputs if isinstance(each, Value)]
    inputs = list(dict.fromkeys(read))
    return written(_Merged(group, side, inputs), inputs, group[0].source)


class _Merged:
    """What stands for several products that have the same array on one side."""

    def __init__(self, group: Sequence[Node], side: int, inputs: Sequence[Value]) -> None:
        self._group, self._side, self._inputs = group, side, inputs

    def __call__(self, *arrays: Any) -> list[Any]:
        known: dict[Any, Any] = dict(zip(self._inputs, arrays, strict=True))
        first, side = self._group[0], self._side
        is_inner_first = _is_inner_first(first, 1 - side)
        others = [
            _flat(node, 1 - side, known[node.inputs[1 - side]], is_inner_first)
            for node in self._group
        ]
        rank = others[0].ndim
        free = rank - 1 if is_inner_first else 0
        summed = [tuple(first.params["dimension_numbers"][0][side])]
        summed.insert(1 - side, tuple(axis for axis in range(rank) if axis != free))
        both = [known[first.inputs[side]]]
        both.insert(1 - side, jnp.concatenate(others, axis=free))
        how: Any = (tuple(summed), ((), ()))
        whole = lax.dot_general(
            both[0],
            both[1],
            how,
            precision=first.params["precision"],
            preferred_element_type=first.output.dtype,
        )
        return list(self._cut(whole, [each.shape[free] for each in others]))

    def _cut(self, whole: Any, widths: Iterable[int]) -> Iterator[Any]:
        """The products; what was put side by side is on the other side of the whole."""
        start, axis = 0, 0 if self._side == 1 else -1
        for node, width in zip(self._group, widths, strict=True):
            part = lax.slice_in_dim(whole, start, start + width, axis=axis)
            yield part.reshape(node.output.shape)
            start += width


def _is_inner_first(node: Node, side: int) -> bool:
    """Do the summed axes of an operand lie before the others? So they are to lie in the whole: a
    library would have to turn it in each call."""
    summed = node.params["dimension_numbers"][0][side]
    return max(summed, default=0) < len(node.inputs[side].shape) - len(summed)


def _flat(node: Node, side: int, array: Any, is_inner_first: bool) -> Any:
    """The array with all that is not summed as one axis: its last, or its first."""
    summed = node.params["dimension_numbers"][0][side]
    free = [axis for axis in range(array.ndim) if axis not in summed]
    turned = array.transpose((*summed, *free) if is_inner_first else (*free, *summed))
    if is_inner_first:
        return turned.reshape((*turned.shape[: len(summed)], -1))
    return turned.reshape((-1, *turned.shape[len(free) :]))
