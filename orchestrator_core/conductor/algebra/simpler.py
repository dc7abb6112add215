"""Nodes that do nothing, or that do with another what one could do. Exact in every bit.

The registry has for each primitive what stands for a node of it, given who made what it reads:
an atom if the node does nothing, another node, or None if it is as simple as can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.algebra.not_a_number import chosen_anyway
from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.node import Node, of_primitive
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

Producer: TypeAlias = Mapping[Value, Node]
Simpler: TypeAlias = Callable[[Node, Producer], "Atom | Node | None"]


def simpler(node: Node, producer: Producer) -> Atom | Node | None:
    rule = RULES.get(node.name)
    return rule(node, producer) if rule is not None and len(node.outputs) == 1 else None


def _before(node: Node, producer: Producer) -> Node | None:
    """Who makes the first input, if it does the same kind of thing."""
    first = node.inputs[0]
    made_by = producer.get(first) if isinstance(first, Value) else None
    return made_by if made_by is not None and made_by.name == node.name else None


def _instead(node: Node, earlier: Node, **params: Any) -> Node:
    """The node, which reads what an earlier one reads."""
    inputs = (earlier.inputs[0], *node.inputs[1:])
    new = {**node.params, **params}
    return of_primitive(node.primitive, inputs, node.outputs, new, source=node.source)


def _transpose(node: Node, producer: Producer) -> Atom | Node | None:
    order = tuple(node.params["permutation"])
    if order == tuple(range(len(order))):
        return node.inputs[0]
    earlier = _before(node, producer)
    if earlier is None:
        return None
    first = earlier.params["permutation"]
    return _instead(node, earlier, permutation=tuple(first[k] for k in order))


def _reshape(node: Node, producer: Producer) -> Atom | Node | None:
    if node.params["dimensions"] is not None:
        return None
    if node.inputs[0].shape == node.output.shape:
        return node.inputs[0]
    earlier = _before(node, producer)
    if earlier is None or earlier.params["dimensions"] is not None:
        return None
    return _instead(node, earlier)


def _convert(node: Node, producer: Producer) -> Atom | Node | None:
    if node.inputs[0].dtype == node.output.dtype:
        return node.inputs[0]
    earlier = _before(node, producer)
    if earlier is None or not _holds(earlier.output.dtype, earlier.inputs[0].dtype):
        return None
    return _instead(node, earlier)


def _holds(wide: Any, narrow: Any) -> bool:
    """Is every number of the narrow type one of the wide type, and is either a plain one?"""
    both_float = jnp.issubdtype(wide, jnp.floating) and jnp.issubdtype(narrow, jnp.floating)
    if both_float:
        limits: Any = jnp.finfo
        a, b = limits(wide), limits(narrow)
        return bool(a.nmant >= b.nmant and a.maxexp >= b.maxexp and a.minexp <= b.minexp)
    both_int = jnp.issubdtype(wide, jnp.integer) and jnp.issubdtype(narrow, jnp.integer)
    return bool(both_int and np.can_cast(narrow, wide))


def _twice(node: Node, producer: Producer) -> Atom | Node | None:
    """What undoes itself."""
    earlier = _before(node, producer)
    same = earlier is not None and dict(earlier.params) == dict(node.params)
    return earlier.inputs[0] if earlier is not None and same else None


def _neutral(number: float, *sides: int) -> Simpler:
    """An operation that does nothing with this number on these sides. Not of complex ones: 1 + 0j
    may make NaN of an infinity, and -inf is not the smallest of them."""

    def rule(node: Node, producer: Producer) -> Atom | Node | None:
        if jnp.issubdtype(node.output.dtype, jnp.complexfloating):
            return None
        for side in sides:
            other = node.inputs[1 - side]
            if _is(node.inputs[side], number) and other.shape == node.output.shape:
                return other
        return None

    return rule


def _is(atom: Atom, number: float) -> bool:
    return isinstance(atom, Literal) and not atom.shape and bool(atom.value == number)


def _select(node: Node, producer: Producer) -> Atom | Node | None:
    """A choice that is the same for all elements, as of a mask that masks nothing; or between two
    that are NaN alike."""
    which = everywhere(node.inputs[0], producer)
    return chosen_anyway(node, producer) if which is None else node.inputs[1:][int(which)]


def _same(node: Node, producer: Producer) -> Atom | Node | None:
    return node.inputs[0]


RULES: Mapping[str, Simpler] = {
    "transpose": _transpose,
    "reshape": _reshape,
    "convert_element_type": _convert,
    "neg": _twice,
    "not": _twice,
    "rev": _twice,
    "select_n": _select,
    "stop_gradient": _same,
    "mul": _neutral(1, 0, 1),
    "div": _neutral(1, 1),
    "max": _neutral(-np.inf, 0, 1),
    "min": _neutral(np.inf, 0, 1),
}
"""Not adding zero: of a negative zero it would make a positive one."""
