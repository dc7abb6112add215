"""Products that are only read with their sides changed are made that way round.

So what is accumulated over tiles need not be transposed as a whole at the end.
"""

from __future__ import annotations

import dataclasses

from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Value


def turned(graph: Graph) -> Graph:
    """The same function."""
    made: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        found = _last_view(graph, node) if node.name == "dot_general" else None
        if found is not None:
            last, is_turned = found
            made[last] = _with_sides_changed(node, last) if is_turned else [_reshape(node, last)]
    nodes = [new for node in graph.nodes for new in made.get(node, [node])]
    return pruned(dataclasses.replace(graph, nodes=tuple(nodes))) if made else graph


def _last_view(graph: Graph, product: Node) -> tuple[Node, bool] | None:
    """The last of the views through which alone it is read that, together with those before, does
    nothing but change axes of one element and, if the second is true, the product's sides."""
    order = straight = [k for k, d in enumerate(product.output.shape) if d != 1]
    found, value = None, product.output
    while (view := _only_view(graph, value)) is not None:
        order = _moved(order, view)
        value = view.output
        if order == _changed(product):
            found = (view, True)
        elif order == straight and (found is not None or view.name == "transpose"):
            found = (view, False)
    return found


def _only_view(graph: Graph, value: Value) -> Node | None:
    readers = graph.consumers[value]
    if len(readers) != 1 or value in graph.outputs:
        return None
    (reader,) = readers
    is_reshape = reader.name in RESHAPES and _real(reader.output) == _real(value)
    return reader if is_reshape or reader.name == "transpose" else None


def _real(value: Value) -> list[int]:
    return [d for d in value.shape if d != 1]


def _moved(order: list[int], view: Node) -> list[int]:
    """Which axis of the product each axis of more than one element is, after the view."""
    if view.name != "transpose":
        return order
    left, given = iter(order), view.inputs[0].shape
    at = [next(left) if d != 1 else None for d in given]
    moved = [at[k] for k in view.params["permutation"]]
    return [k for k in moved if k is not None]


def _changed(product: Node) -> list[int]:
    """The axes of its result with right before left; empty if one side has none."""
    sides, shape = Sides.of(product), product.output.shape
    batch, left = len(sides.batch[0]), len(sides.free[0])
    axes = range(len(shape))
    parts = [*axes[:batch]], [*axes[batch + left :]], [*axes[batch : batch + left]]
    real = [[k for k in part if shape[k] != 1] for part in parts]
    return [k for part in real for k in part] if real[1] and real[2] else []


def _with_sides_changed(product: Node, view: Node) -> list[Node]:
    (lc, rc), (lb, rb) = product.params["dimension_numbers"]
    precision = product.params["precision"]
    other = precision[::-1] if isinstance(precision, tuple) else precision
    params = {**product.params, "dimension_numbers": ((rc, lc), (rb, lb)), "precision": other}
    sides, shape = Sides.of(product), product.output.shape
    batch, left = len(sides.batch[0]), len(sides.free[0])
    turned_shape = (*shape[:batch], *shape[batch + left :], *shape[batch : batch + left])
    made = Value(_jax.ShapedArray(turned_shape, product.output.dtype))
    inputs = product.inputs[::-1]
    new = of_primitive(product.primitive, inputs, (made,), params, source=product.source)
    return [new, _reshape(new, view)]


def _reshape(product: Node, view: Node) -> Node:
    params = {"new_sizes": view.output.shape, "dimensions": None, "sharding": None}
    return of_primitive(lax.reshape_p, product.outputs, view.outputs, params)
