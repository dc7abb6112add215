"""Numbers that are compared for equality: all of them are kept, or all are made again together.

Done again in another kernel, a number may differ in its last digit. The derivative of a maximum
asks where the input equals the maximum; it must be the maximum of that very input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

EQUALITIES = frozenset({"eq", "ne"})

VIEWS = frozenset(
    (
        *(
            "broadcast_in_dim",
            "convert_element_type",
            "copy",
            "expand_dims",
            "optimization_barrier",
        ),
        *("reshape", "slice", "squeeze", "stop_gradient", "transpose"),
    )
)
"""They make the same numbers."""


def compared(graph: Graph) -> frozenset[Value]:
    """The inexact values of a graph that are compared for equality, under all their names."""
    found: set[Value] = set()
    for node in graph.nodes:
        if node.name in EQUALITIES:
            found.update(_names(graph, node.inputs))
    return frozenset(found)


def _names(graph: Graph, atoms: Iterable[Atom]) -> Iterator[Value]:
    open_ = [each for each in atoms if isinstance(each, Value)]
    while open_:
        value = open_.pop()
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            continue
        yield value
        node: Node | None = graph.producer.get(value)
        if node is not None and node.name in VIEWS:
            open_ += [each for each in node.inputs if isinstance(each, Value)]
