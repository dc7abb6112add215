"""Which terms a value is the sum of, derived from what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from orchestrator_core.conductor.facts.axes import Spec, roles
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.kernels.attention.mask import window_of
from orchestrator_core.conductor.kernels.attention.reading import Other, Reading, parts_of
from orchestrator_core.conductor.kernels.attention.softmax import KEYS, Softmax
from orchestrator_core.conductor.kernels.attention.terms import D, E, L, Terms


class Derivation:
    """Of values that are made of one softmax.

    Attributes:
        cotangent, v: what d is the product of; None as long as none was met.
    """

    def __init__(self, reading: Reading, softmax: Softmax) -> None:
        self.reading = reading
        self.softmax = softmax
        self.cotangent: Key | None = None
        self.v: Key | None = None
        self._known: dict[Key, Terms] = {}

    def terms(self, atom: Atom, spec: Spec) -> Terms:
        """Raises:
        Other: if it is made of something else.
        """
        number = self.reading.number(atom)
        if number is not None or isinstance(atom, Literal):
            return self._number(number)
        key = self.reading.origin((atom, spec))
        if key not in self._known:
            self._known[key] = self._derived(key)
        return self._known[key]

    def _number(self, number: float | None) -> Terms:
        if number is None or not np.isfinite(number) or number == 0:
            raise Other
        return Terms.number(number)

    def _derived(self, key: Key) -> Terms:
        if key == self.softmax.exponentials:
            return E
        if key == self.softmax.sums:
            return L
        node = self.reading.graph.producer.get(key[0])
        rule = None if node is None else _RULES.get(node.name)
        if node is None or rule is None or len(node.outputs) > 1:
            raise Other
        return rule(self, node, key[1])

    def operands(self, node: Node, spec: Spec) -> list[tuple[Atom, Spec]]:
        return self.reading.operands(node, spec)

    def all_terms(self, node: Node, spec: Spec) -> list[Terms]:
        return [self.terms(*each) for each in self.operands(node, spec)]

    def is_zero(self, atom: Atom, spec: Spec) -> bool:
        """Is it a sum whose terms cancel?"""
        try:
            return isinstance(atom, Value) and not self.terms(atom, spec).parts
        except Other:
            return False

    def is_count(self, atom: Atom, spec: Spec) -> bool:
        """Is it a truth value as a number, or how many of them are true? Such numbers share the
        gradient of a maximum among the largest, and here that is zero."""
        if not isinstance(atom, Value):
            return False
        node = self.reading.graph.producer.get(self.reading.origin((atom, spec))[0])
        while node is not None and node.name == "reduce_sum" and isinstance(node.inputs[0], Value):
            node = self.reading.graph.producer.get(node.inputs[0])
        is_cast = node is not None and node.name == "convert_element_type"
        return is_cast and node is not None and node.inputs[0].dtype == np.bool_

    def dotted(self, left: Key, right: Key) -> Terms:
        """The product of what has the axis of queries and of what has that of keys."""
        pair = (right, left) if KEYS in roles(left[1]) else (left, right)
        softmax = self.softmax
        wanted = [{*softmax.heads, *each} for each in (softmax.of_queries, (KEYS,))]
        for key, has in zip(pair, wanted, strict=True):
            names = [role for _, role in parts_of(key[1])]
            if len(names) != len(has) + 1 or {*names} != {*has, None}:
                raise Other
        if self.cotangent is not None and (self.cotangent, self.v) != pair:
            raise Other
        self.cotangent, self.v = pair
        return D

    def hides_the_same(self, which: Key) -> bool:
        """Is it the mask of the softmax?"""
        softmax = self.softmax
        if softmax.mask is None:
            return False
        if which == softmax.which:
            return True
        return window_of(self.reading, which, softmax.query, KEYS) == softmax.mask.window


def _product(of: Derivation, node: Node, spec: Spec) -> Terms:
    one, other = of.operands(node, spec)
    for first, second in ((one, other), (other, one)):
        if of.is_count(*second) and of.is_zero(*first):
            return Terms({})
    return of.terms(*one) * of.terms(*other)


def _quotient(of: Derivation, node: Node, spec: Spec) -> Terms:
    one, other = of.operands(node, spec)
    if of.is_count(*other) and of.is_zero(*one):
        return Terms({})
    return of.terms(*one) * of.terms(*other).power(-1)


def _sum(of: Derivation, node: Node, spec: Spec) -> Terms:
    one, other = of.all_terms(node, spec)
    return one + other


def _difference(of: Derivation, node: Node, spec: Spec) -> Terms:
    one, other = of.all_terms(node, spec)
    return one + other.times(-1.0)


def _negative(of: Derivation, node: Node, spec: Spec) -> Terms:
    (one,) = of.all_terms(node, spec)
    return one.times(-1.0)


def _power(of: Derivation, node: Node, spec: Spec) -> Terms:
    (one,) = of.all_terms(node, spec)
    return one.power(int(node.params["y"]))


def _summed(of: Derivation, node: Node, spec: Spec) -> Terms:
    """Over all keys, and along axes of one element."""
    ((atom, cut),) = of.operands(node, spec)
    long = [axis for axis in node.params["axes"] if atom.shape[axis] > 1]
    if len(long) != 1:
        raise Other
    (axis,) = long
    keys = {size for size, role in parts_of(of.softmax.exponentials[1]) if role == KEYS}
    if atom.shape[axis] not in keys:
        raise Other
    made = (*cut[:axis], ((atom.shape[axis], KEYS),), *cut[axis + 1 :])
    return of.terms(atom, made).summed()


def _selected(of: Derivation, node: Node, spec: Spec) -> Terms:
    """Zero where the mask hides a key, which it is anyway."""
    operands = of.operands(node, spec)
    if len(operands) != 3:
        raise Other
    (which, cut), (none, _), kept = operands
    if not isinstance(which, Value) or of.reading.number(none) != 0:
        raise Other
    made = of.terms(*kept)
    if not made.is_hidden or not of.hides_the_same(of.reading.origin((which, cut))):
        raise Other
    return made


def _dotted(of: Derivation, node: Node, spec: Spec) -> Terms:
    found = [of.reading.origin(each) for each in of.reading.values(node, spec)]
    if len(found) != 2 or not roles(spec) >= of.softmax.pairwise:
        raise Other
    return of.dotted(*found)


_RULES: Mapping[str, Callable[[Derivation, Node, Spec], Terms]] = {
    "mul": _product,
    "div": _quotient,
    "add": _sum,
    "add_any": _sum,
    "sub": _difference,
    "neg": _negative,
    "integer_pow": _power,
    "reduce_sum": _summed,
    "select_n": _selected,
    "dot_general": _dotted,
}
