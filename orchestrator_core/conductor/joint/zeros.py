"""The backward part where some cotangents are zero, as of outputs that a loss does not use."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence

import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

LINEAR = frozenset(
    {
        *("broadcast_in_dim", "convert_element_type", "copy", "copy_p", "cumsum", "dynamic_slice"),
        *("expand_dims", "gather", "imag", "neg", "real", "reduce_precision", "reduce_sum"),
        *("reshape", "rev", "slice", "squeeze", "transpose"),
    }
)
"""Zero if their first input is."""

BILINEAR = frozenset({"dot_general", "conv_general_dilated", "mul"})
"""Zero if one of their inputs is."""

Rule = Callable[[Node, Sequence[bool]], Atom | bool]
"""What the only output of a node is if these inputs are zero: zero (True), one of its inputs, or
not known (False)."""


def _sum(node: Node, zero: Sequence[bool]) -> Atom | bool:
    """The other one, unless it has to be broadcast or converted."""
    if all(zero):
        return True
    other = node.inputs[zero.index(False)]
    return other if other.aval == node.output.aval and isinstance(other, Value) else False


def _difference(node: Node, zero: Sequence[bool]) -> Atom | bool:
    return _sum(node, zero) if zero[1] else False


def _select(node: Node, zero: Sequence[bool]) -> Atom | bool:
    return all(zero[1:])


def _quotient(node: Node, zero: Sequence[bool]) -> Atom | bool:
    return zero[0]


RULES: Mapping[str, Rule] = {
    "add": _sum,
    "add_any": _sum,
    "sub": _difference,
    "select_n": _select,
    "div": _quotient,
    **dict.fromkeys(LINEAR, _quotient),
    **dict.fromkeys(BILINEAR, lambda node, zero: any(zero)),
}


def without(graph: Graph, zero: Collection[Value]) -> Graph:
    """The same function without these inputs, which it is linear in, and which are zero.

    As JAX does with cotangents that nobody has given: nothing is multiplied by them, so that they
    take part in no NaN either. Where a node has no rule, it is given zeros.
    """
    zeros, same = set(zero), dict[Value, Value]()
    nodes: list[Node] = []

    def now(atom: Atom) -> Atom:
        if not isinstance(atom, Value):
            return atom
        if atom in zeros:
            nodes.append(_nothing(atom))
            return nodes[-1].output
        return same.get(atom, atom)

    for node in graph.nodes:
        which = [each in zeros for each in node.inputs]
        result = RULES[node.name](node, which) if any(which) and node.name in RULES else False
        if result is True:
            zeros.add(node.output)
        elif isinstance(result, Value):
            same[node.output] = same.get(result, result)
        else:
            read = tuple(map(now, node.inputs))
            nodes.append(dataclasses.replace(node, inputs=read))
    outputs = tuple(map(now, graph.outputs))
    inputs = tuple(value for value in graph.inputs if value not in zero)
    return pruned(Graph(inputs, outputs, tuple(nodes), graph.constants))


def _nothing(value: Value) -> Node:
    """Makes zeros where they are needed: no program carries them."""
    made = Value(value.aval)
    return Node("zeros", (), (made,), lambda _: [jnp.zeros(made.shape, made.dtype)])
