"""From a graph back to JAX: one loop over the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.value import Atom, Literal, Value


def evaluate(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """What the graph returns for these arrays, or tracers."""
    known: dict[Value, Any] = dict(graph.constants)
    known.update(zip(graph.inputs, inputs, strict=True))

    def array(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else known[atom]

    for node in graph.nodes:
        made = node.apply([array(each) for each in node.inputs])
        known.update(zip(node.outputs, made, strict=True))
    return [array(each) for each in graph.outputs]


def traced(graph: Graph) -> Any:
    """The closed jaxpr of a graph."""
    return _jax.trace(lambda *arrays: evaluate(graph, arrays), [i.aval for i in graph.inputs])
