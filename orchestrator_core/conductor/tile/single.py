"""One element put beside others that are all the same number, along a long axis.

As the gradient of what was cut out of a row: it is a choice by position, which tiles make for
themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import written


def chosen_by_position(graph: Graph, is_large: Callable[[Atom], bool]) -> Graph:
    """The same function; the same graph if it has no such array."""
    made: list[Node] = []
    for node in graph.nodes:
        made += _chosen(node, graph) if node.name == "pad" and is_large(node.output) else [node]
    return graph.with_nodes(made) if len(made) > len(graph.nodes) else graph


def _chosen(node: Node, graph: Graph) -> list[Node]:
    given, number = node.inputs[0], everywhere(node.inputs[1], graph.producer)
    config = [tuple(each) for each in node.params["padding_config"]]
    axes = [axis for axis, each in enumerate(config) if each != (0, 0, 0)]
    if len(axes) != 1 or number is None or not isinstance(given, Value):
        return [node]
    (axis,) = axes
    if given.shape[axis] != 1 or min(config[axis]) < 0:
        return [node]

    def function(array: Any) -> list[Any]:
        at = lax.broadcasted_iota(jnp.int32, node.output.shape, axis)
        other = jnp.asarray(number, array.dtype)
        return [jnp.where(at == config[axis][0], array, other)]

    *others, last = written(function, [given], node.source).nodes
    return [*others, dataclasses.replace(last, outputs=node.outputs)]
