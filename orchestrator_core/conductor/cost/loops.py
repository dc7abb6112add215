"""What loops and branches do, from what their bodies do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

UNKNOWN_TRIPS = 1
"""Steps of a ``while`` whose count nobody knows before it runs. XLA's own analysis says so too."""


def work_of_loop(node: Node, of_graph: Callable[[Graph], Work]) -> Work:
    """Bodies times steps; of branches the one with the most flops, or else bytes."""
    works = [of_graph(body) for body in node.bodies]
    if node.name == "cond":
        return max(works, key=lambda work: (work.flops + work.transcendentals, work.nbytes))
    total = works[0]
    for work in works[1:]:
        total = total + work
    return total.times(trips(node))


def carried(node: Node) -> tuple[slice, slice]:
    """Of the body of a scan or while: which inputs are carried, and which outputs."""
    if node.name == "while":
        first = node.params["body_nconsts"]
        return slice(first, None), slice(None)
    first, count = _jax.scan_counts(node.params)
    return slice(first, first + count), slice(count)


def initial_value(node: Node, output: Value) -> Atom | None:
    """What a scan or while begins with where it returns this output; None of what a scan stacks."""
    position = node.outputs.index(output)
    if node.name == "while":
        constants, count = (
            node.params["cond_nconsts"] + node.params["body_nconsts"],
            len(node.outputs),
        )
    else:
        constants, count = _jax.scan_counts(node.params)
    return node.inputs[constants + position] if position < count else None


def trips(node: Node) -> int:
    """Steps of a scan or while; of branches 1."""
    if node.name == "scan":
        return int(node.params["length"])
    if node.name == "while":
        return _counted(node) or UNKNOWN_TRIPS
    return 1


def _counted(node: Node) -> int | None:
    """Steps of a while that adds one to a counter, from a known number, up to another."""
    condition, body = node.bodies
    if not condition.nodes or len(condition.nodes) != 1 or condition.nodes[0].name != "lt":
        return None
    counter, bound = condition.nodes[0].inputs
    if not isinstance(counter, Value) or counter not in condition.inputs:
        return None
    carried = condition.inputs.index(counter) - node.params["cond_nconsts"]
    if carried < 0 or not _adds_one(body, carried, node.params["body_nconsts"]):
        return None
    first = _number(node, node.params["cond_nconsts"] + node.params["body_nconsts"] + carried)
    last = _scalar(bound.value) if isinstance(bound, Literal) else _bound(node, condition, bound)
    return None if first is None or last is None else max(0, last - first)


def _bound(node: Node, condition: Graph, bound: Value) -> int | None:
    if bound in condition.constants:
        return _scalar(condition.constants[bound])
    position = condition.inputs.index(bound) if bound in condition.inputs else -1
    return _number(node, position) if 0 <= position < node.params["cond_nconsts"] else None


def _adds_one(body: Graph, carried: int, constants: int) -> bool:
    made = body.outputs[carried]
    node = body.producer.get(made) if isinstance(made, Value) else None
    if node is None or node.name != "add":
        return False
    counter, one = node.inputs
    return counter is body.inputs[constants + carried] and _scalar(getattr(one, "value", None)) == 1


def _number(node: Node, position: int) -> int | None:
    return _scalar(getattr(node.inputs[position], "value", None))


def _scalar(value: object) -> int | None:
    if value is None or np.ndim(value) or not np.issubdtype(np.result_type(value), np.integer):  # type: ignore[arg-type]
        return None
    return int(value)  # type: ignore[call-overload,no-any-return]
