"""Bodies of loops whose derivatives are taken to learn what they do to a carry."""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node


def without_stops(body: Graph) -> Graph:
    """The same values, with nothing that keeps derivatives from being those of the values."""
    nodes = (_copy(node) if node.name == "stop_gradient" else node for node in body.nodes)
    return dataclasses.replace(body, nodes=tuple(nodes))


def _copy(node: Node) -> Node:
    return dataclasses.replace(node, apply=lambda arrays: list(arrays), name="copy")
