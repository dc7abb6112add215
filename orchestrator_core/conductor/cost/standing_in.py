"""Nodes that stand for what XLA makes of one of JAX's."""

from __future__ import annotations

import dataclasses

from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value


def standing_in(
    name: str, node: Node, inputs: tuple[Atom, ...], made: Value, **params: object
) -> Node:
    """A node to be priced, and never run, in the place of another."""
    return dataclasses.replace(node, name=name, inputs=inputs, outputs=(made,), params=params)
