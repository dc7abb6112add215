"""What calls do that the graph keeps closed."""

from __future__ import annotations

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import BODY, read


def body_of(node: Node) -> Graph | None:
    """What a closed call does, as a graph; None if the node is no call."""
    if node.name == "conducted":
        graph = node.params["program"].graph
        return graph if isinstance(graph, Graph) else None
    jaxpr = node.params.get(BODY.get(node.name, "jaxpr"))
    if node.bodies or node.name == "pallas_call" or not hasattr(jaxpr, "eqns"):
        return None
    return read(jaxpr)
