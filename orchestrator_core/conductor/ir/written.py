"""Nodes of a function that is written in JAX."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.substitute import reading, replaced, substituted
from orchestrator_core.conductor.ir.value import Value


def written(function: Callable[..., Any], inputs: Sequence[Value], source: str = "") -> Graph:
    """The graph of a function of arrays that returns a list, as it does it to these values.

    Args:
        source: where the user wrote what this stands for.
    """
    graph = read(_jax.trace(function, [each.aval for each in inputs]))
    named = substituted(graph, dict(zip(graph.inputs, inputs, strict=True)))
    nodes = tuple(dataclasses.replace(node, source=source) for node in named.nodes)
    return dataclasses.replace(named, inputs=tuple(inputs), nodes=nodes)


def in_place_of(graph: Graph, old: Sequence[Node], new: Graph, outputs: Sequence[Value]) -> Graph:
    """A graph in which `new` makes what the nodes `old` have made.

    Args:
        outputs: of the old nodes, all that others read, in the order in which `new` returns it.
    """
    known = dict(zip(outputs, new.outputs, strict=True))
    gone = set(old)
    kept = [reading(node, known) for node in graph.nodes if node not in gone]
    made = dataclasses.replace(
        graph,
        constants={**graph.constants, **new.constants},
        outputs=tuple(replaced(each, known) for each in graph.outputs),
    )
    return made.with_nodes([*kept, *new.nodes])
