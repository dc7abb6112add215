"""Operations that only move elements, or not even that."""

from __future__ import annotations

from orchestrator_core.conductor.cost.rules.registry import moved, rule, written
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node


@rule(
    "after_all",
    "create_token",
    "empty",
    "empty2",
    "expand_dims",
    "name",
    "optimization_barrier",
    "random_unwrap",
    "random_wrap",
    "reshape",
    "sharding_constraint",
    "squeeze",
    "stop_gradient",
    "tiled_store",
)
def free(node: Node) -> Work:
    """The same bytes under another name, or bytes that nobody writes."""
    return Work()


@rule("broadcast_in_dim", "concatenate", "copy", "copy_p", "iota", "pad", "rev", "transpose")
def moving(node: Node) -> Work:
    return Work(nbytes=moved(node))


@rule("dynamic_slice", "gather", "slice")
def cutting(node: Node) -> Work:
    """Reads no more than it returns, and where to."""
    indices = sum(each.nbytes for each in node.inputs[1:])
    return Work(nbytes=2 * written(node) + indices)


@rule("dynamic_update_slice")
def updating(node: Node) -> Work:
    """In place: a rewrite or XLA that needs the old array too pays for a copy of its own."""
    return Work(nbytes=2 * node.inputs[1].nbytes + sum(each.nbytes for each in node.inputs[2:]))
