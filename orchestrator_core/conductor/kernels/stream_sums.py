"""Results of a loop's body that are sums over the parts of what is carried.

A program makes the sum over its own part; what all have made is summed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import Spec, Untileable, roles, untiled
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Atom, Value


def sums_of(body: Graph, specs: Mapping[Value, Spec]) -> dict[int, Node]:
    """Outputs that are sums over parts, and what sums."""
    found = {}
    for k, each in enumerate(body.outputs):
        node = None if each in specs else _made_by(body, each)
        is_sum = node is not None and node.name in ("reduce_sum", "dot_general")
        if node is not None and is_sum and _reduced(node, specs):
            found[k] = node
    return found


def _made_by(body: Graph, atom: Atom) -> Node | None:
    """What makes a value, whatever axes of one element it gets or loses afterwards."""
    node = body.producer.get(atom) if isinstance(atom, Value) else None
    while node is not None and node.name in _VIEWS and len(node.inputs) == 1:
        first = node.inputs[0]
        if _real(first) != _real(node.output) or not isinstance(first, Value):
            break
        if first.dtype != node.output.dtype:
            break
        node = body.producer.get(first)
    return node


_VIEWS = ("reshape", "squeeze", "expand_dims", "broadcast_in_dim", "reduce_sum")


def _real(atom: Atom) -> list[int]:
    return [size for size in atom.shape if size != 1]


def _reduced(node: Node, specs: Mapping[Value, Spec]) -> list[int]:
    """The axes of the first operand in parts that are summed."""
    first = node.inputs[0]
    spec = specs.get(first) if isinstance(first, Value) else None
    if spec is None:
        return []
    axes = node.params["axes"] if node.name == "reduce_sum" else Sides.of(node).contracted[0]
    return [k for k in axes if roles((spec[k],))]


def with_parts(body: Graph, sums: Mapping[int, Node], specs: Mapping[Value, Spec]) -> Graph:
    """The body, in which sums over all parts are made for each part."""
    if not sums:
        return body
    operands: list[Atom] = [each for node in sums.values() for each in node.inputs]
    graph = Graph(body.inputs, (*body.outputs, *operands), body.nodes, body.constants)

    def program(*arrays: Any) -> list[Any]:
        made = evaluate(graph, arrays)
        outputs, rest = made[: len(body.outputs)], iter(made[len(body.outputs) :])
        for k, node in sums.items():
            outputs[k] = _in_parts(node, [next(rest) for _ in node.inputs], specs)
        return outputs

    return read(_jax.trace(program, [value.aval for value in body.inputs]))


def _in_parts(node: Node, arrays: Sequence[Any], specs: Mapping[Value, Spec]) -> Any:
    """The sum of each part, of shape (parts, ...)."""
    found = _reduced(node, specs)
    if len(found) != 1:
        raise Untileable("a sum over several axes in parts")
    (axis,) = found
    first = node.inputs[0]
    if not isinstance(first, Value):
        raise Untileable("a sum of numbers")
    count = next(size for size, role in specs[first][axis] if role is not None)
    if node.name == "reduce_sum":
        split = _split(arrays[0], axis, count)
        return jnp.sum(split, [k + 1 for k in node.params["axes"]], dtype=node.output.dtype)
    (lc, rc), (lb, rb) = node.params["dimension_numbers"]
    other = rc[lc.index(axis)]
    left, right = _split(arrays[0], axis, count), _split(arrays[1], other, count)
    contracted = tuple(k + 1 for k in lc), tuple(k + 1 for k in rc)
    batch = (0, *(k + 1 for k in lb)), (0, *(k + 1 for k in rb))
    alike = {each: node.params[each] for each in ("precision", "preferred_element_type")}
    made = lax.dot_general(left, right, (contracted, batch), **alike)
    return made.astype(node.output.dtype)


def _split(array: Any, axis: int, count: int) -> Any:
    """With an axis of `count` parts before all others."""
    shape = (*array.shape[:axis], count, array.shape[axis] // count, *array.shape[axis + 1 :])
    return jnp.moveaxis(jnp.reshape(array, shape), axis, 0)


def wanted_of(
    made: Graph, body: Graph, specs: Mapping[Value, Spec], sums: Mapping[int, Node]
) -> list[tuple[Atom, Spec]]:
    wanted: list[tuple[Atom, Spec]] = []
    for k, (new, old) in enumerate(zip(made.outputs, body.outputs, strict=True)):
        spec = specs.get(old, untiled(old.shape)) if isinstance(old, Value) else untiled(old.shape)
        wanted.append((new, _of_sum(sums[k], specs) if k in sums else spec))
    return wanted


def _of_sum(node: Node, specs: Mapping[Value, Spec]) -> Spec:
    """Of a sum in parts, which has an axis for them before its own."""
    first = node.inputs[0]
    if not isinstance(first, Value):
        raise Untileable("a sum of numbers")
    (axis,) = _reduced(node, specs)
    cell = next(part for part in specs[first][axis] if part[1] is not None)
    return ((cell,), *rule_of(node).forward(node, 0, specs[first]).out)
