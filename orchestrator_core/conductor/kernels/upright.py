"""Products whose rows come before their columns, as kernels hold them.

``einsum("bhij,bjhd->bihd", p, v)`` is traced as a product of `v` and `p`, whose axes are exchanged
afterwards. A kernel can multiply the other way round, but it cannot exchange what it holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Value


def upright(graph: Graph) -> Graph:
    """The graph with products of what was there before its axes were exchanged, and the other way
    round where only an exchange of axes reads them that puts the second operand's first."""
    graph = _with_results(_with_operands(graph))
    return graph.with_nodes(graph.nodes)


def _with_operands(graph: Graph) -> Graph:
    nodes = [_of_sources(graph, n) if n.name == "dot_general" else n for n in graph.nodes]
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _of_sources(graph: Graph, product: Node) -> Node:
    """A product that reads arrays whose axes were exchanged for it, as one of these arrays."""
    sides, inputs = Sides.of(product), list(product.inputs)
    contracted, batch = (list(map(list, each)) for each in product.params["dimension_numbers"])
    for side, atom in enumerate(inputs):
        maker = graph.producer.get(atom) if isinstance(atom, Value) else None
        if maker is None or maker.name != "transpose" or len(sides.free[side]) > 1:
            continue
        order = [int(axis) for axis in maker.params["permutation"]]
        inputs[side] = maker.inputs[0]
        contracted[side] = [order[axis] for axis in contracted[side]]
        batch[side] = [order[axis] for axis in batch[side]]
    if tuple(inputs) == product.inputs:
        return product
    numbers = tuple(tuple(map(tuple, each)) for each in (contracted, batch))
    params = {**product.params, "dimension_numbers": numbers}
    return of_primitive(lax.dot_general_p, inputs, product.outputs, params, source=product.source)


def _with_results(graph: Graph) -> Graph:
    made: dict[Node, Sequence[Node]] = {}
    for node in graph.nodes:
        readers = graph.consumers[node.outputs[0]] if node.name == "dot_general" else ()
        if len(readers) == 1 and readers[0].name == "transpose" and _is_turned(node, readers[0]):
            made[node], made[readers[0]] = _other_way(node, readers[0]), ()
    nodes = [each for node in graph.nodes for each in made.get(node, (node,))]
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _is_turned(product: Node, reader: Node) -> bool:
    """Does the last axis of the result come from the first operand?"""
    sides = Sides.of(product)
    batch, first, second = len(sides.batch[0]), len(sides.free[0]), len(sides.free[1])
    last = int(reader.params["permutation"][-1])
    return first == second == 1 and last == batch and not product.effects


def _other_way(product: Node, reader: Node) -> Sequence[Node]:
    params, (left, right) = dict(product.params), product.inputs
    (first, second), (batch, other) = params["dimension_numbers"]
    params["dimension_numbers"] = ((second, first), (other, batch))
    shape = product.output.shape
    exchanged = (*shape[:-2], shape[-1], shape[-2])
    made = Value(_jax.ShapedArray(exchanged, product.output.dtype))
    place = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    order = tuple(place[int(axis)] for axis in reader.params["permutation"])
    return (
        of_primitive(lax.dot_general_p, (right, left), (made,), params, source=product.source),
        of_primitive(
            lax.transpose_p,
            (made,),
            reader.outputs,
            {**reader.params, "permutation": order},
            source=reader.source,
        ),
    )
