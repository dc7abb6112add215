"""Plain attention, proven by dataflow: ``softmax(scale * Q K^T) V``, causal or not.

Every axis of the result has a role of its own, and the proof follows these backward, so that axes
that merely have the same length are never taken for each other. What divides must be the sum of the
very exponentials that are divided, and what is subtracted from an exponent must not change along
the keys. Anything else, such as a mask with finite numbers, is no plain attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.axes import Role, Spec, Untileable, roles
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.facts.transfer import rule_of
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

VIEWS = ("broadcast_in_dim", "transpose", *RESHAPES)

KEYS: Role = "keys"
"""The role of the axis that is summed; the others have the number of an axis of the result."""


@dataclass(frozen=True)
class Attention:
    """Attributes:
    node: the product that makes it. q, k, v: values, and the roles of their axes, None of the one
        that queries and keys are multiplied along.
    scale: of the scores. is_causal: does a query see no later key?
    """

    node: Node
    q: Key
    k: Key
    v: Key
    scale: float
    is_causal: bool


def attention_of(graph: Graph, node: Node) -> Attention | None:
    """What a product of matrices is, if it is attention."""
    if node.name != "dot_general" or len(node.output.shape) < 2:
        return None
    for side in (0, 1):
        try:
            return _Prover(graph).attention(node, side)
        except (_Other, Untileable):
            continue
    return None


class _Other(Exception):
    """It is something else."""


class _Prover:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def attention(self, node: Node, side: int) -> Attention:
        """With the weights on one side of a product."""
        spec: Spec = tuple(((size, str(k)),) for k, size in enumerate(node.output.shape))
        sides = Sides.of(node)
        keys = list(zip(node.inputs, rule_of(node).back(node, spec), strict=True))
        weights, v = (self._with_role(*keys[s], sides.contracted[s]) for s in (side, 1 - side))
        divided, by = self._operands(self._node(weights, "div"), weights)
        exponential = self._origin(divided)
        self._check_sum(by, exponential)
        exponent = self._operands(self._node(exponential, "exp"), exponential)[0]
        scores, is_causal = self._masked(self._without_shift(exponent))
        product, scale = self._scaled(scores)
        made = self._node(product, "dot_general")
        q, k = self._operands(made, product)
        first, second = (self._origin(each) for each in (q, k))
        if KEYS in roles(first[1]):
            first, second = second, first
        found = Attention(node, first, second, self._origin(v), scale, is_causal)
        _check_roles(found)
        return found

    def _with_role(self, atom: Atom, spec: Spec, contracted: tuple[int, ...]) -> Key:
        if isinstance(atom, Literal) or len(contracted) != 1:
            raise _Other
        made = list(spec)
        made[contracted[0]] = ((atom.shape[contracted[0]], KEYS),)
        return self._origin((atom, tuple(made)))

    def _origin(self, key: Key) -> Key:
        """What a value is a view of, or has been rounded from."""
        while (node := self.graph.producer.get(key[0])) is not None:
            if node.name not in VIEWS and not _is_cast(node):
                break
            first = node.inputs[0]
            if isinstance(first, Literal):
                break
            key = (first, rule_of(node).back(node, key[1])[0])
        return key

    def _node(self, key: Key, name: str) -> Node:
        node = self.graph.producer.get(key[0])
        if node is None or node.name != name:
            raise _Other
        return node

    def _operands(self, node: Node, key: Key) -> list[Key]:
        pairs = zip(node.inputs, rule_of(node).back(node, key[1]), strict=True)
        return [(atom, spec) for atom, spec in pairs if isinstance(atom, Value)]

    def _check_sum(self, by: Key, exponential: Key) -> None:
        """Is it the sum of these exponentials over all keys?"""
        total = self._origin(by)
        node = self._node(total, "reduce_sum")
        (atom, spec), axes = self._operands(node, total)[0], node.params["axes"]
        if len(axes) != 1 or self._with_role(atom, spec, tuple(axes)) != exponential:
            raise _Other

    def _without_shift(self, key: Key) -> Key:
        """What is exponentiated, but for what is the same for all keys."""
        key = self._origin(key)
        while (node := self.graph.producer.get(key[0])) is not None and node.name == "sub":
            operands = self._operands(node, key)
            if len(operands) != 2 or KEYS in roles(self._origin(operands[1])[1]):
                raise _Other
            key = self._origin(operands[0])
        return key

    def _masked(self, key: Key) -> tuple[Key, bool]:
        node = self.graph.producer.get(key[0])
        if node is None or node.name != "select_n":
            return key, False
        operands = self._operands(node, key)
        if len(node.inputs) != 3 or len(operands) != 3:
            raise _Other
        which, fill, kept = (self._origin(each) for each in operands)
        if self._number(fill[0]) != -np.inf or not self._is_causal(which, key[1]):
            raise _Other
        return kept, True

    def _is_causal(self, which: Key, scores: Spec) -> bool:
        """Is it ``query >= key``, by position?"""
        node = self._node(which, "ge")
        operands = [self._origin(each) for each in self._operands(node, which)]
        if len(operands) != 2:
            return False
        query, key = (self._position(each) for each in operands)
        return query in roles(scores) - {KEYS} and key == KEYS

    def _position(self, key: Key) -> Role | None:
        """The role that a value counts along, from zero."""
        node = self.graph.producer.get(key[0])
        if node is None or node.name != "iota":
            return None
        parts = key[1][node.params["dimension"]]
        return parts[0][1] if len(parts) == 1 else None

    def _scaled(self, key: Key) -> tuple[Key, float]:
        scale = 1.0
        while (node := self.graph.producer.get(key[0])) is not None:
            if node.name not in ("mul", "div"):
                break
            numbers = [self._number(each) for each in node.inputs]
            (place,) = [k for k, number in enumerate(numbers) if number is None] or [-1]
            number = numbers[1 - place] if place in (0, 1) else None
            if number is None or (node.name == "div" and place == 1):
                raise _Other
            scale = scale * number if node.name == "mul" else scale / number
            pairs = list(zip(node.inputs, rule_of(node).back(node, key[1]), strict=True))
            atom, spec = pairs[place]
            key = self._origin((_value(atom), spec))
        return key, scale

    def _number(self, atom: Atom) -> float | None:
        """What a value is everywhere, if that is written in the program."""
        if isinstance(atom, Literal):
            return float(atom.value) if np.ndim(atom.value) == 0 else None
        node = self.graph.producer.get(atom)
        if node is None or len(node.inputs) != 1 or len(node.outputs) != 1:
            return None
        given = self._number(node.inputs[0])
        if given is None or not (node.name in (*VIEWS, "sqrt", "rsqrt") or _is_cast(node)):
            return None
        if node.name in ("sqrt", "rsqrt"):
            return float(np.sqrt(given) if node.name == "sqrt" else 1 / np.sqrt(given))
        return given


def _value(atom: Atom) -> Value:
    if isinstance(atom, Literal):
        raise _Other
    return atom


def _is_cast(node: Node) -> bool:
    if node.name in ("copy", "stop_gradient", "name"):
        return True
    types = [each.dtype for each in (*node.inputs, *node.outputs)]
    return node.name == "convert_element_type" and all(
        jnp.issubdtype(dtype, jnp.floating) for dtype in types
    )


def axes_of(key: Key) -> Mapping[Role | None, int]:
    """Where each role is; raises if an axis has several parts."""
    made: dict[Role | None, int] = {}
    for k, axis in enumerate(key[1]):
        if len(axis) > 1 or (axis and axis[0][1] in made):
            raise _Other
        if axis:
            made[axis[0][1]] = k
    return made


def _check_roles(found: Attention) -> None:
    """Have queries, keys and values the axes that they must have, and no others?"""
    q, k, v = (axes_of(each) for each in (found.q, found.k, found.v))
    heads = set(q) & set(k) - {None}
    query, column = set(q) - heads - {None}, set(v) - heads - {KEYS}
    is_right = (
        set(k) == heads | {KEYS, None}
        and len(query) == len(column) == 1
        and None in q
        and None not in v
        and KEYS in v
        and heads <= set(v)
        and heads | query | column == {str(n) for n in range(len(found.node.output.shape))}
    )
    if not is_right:
        raise _Other
