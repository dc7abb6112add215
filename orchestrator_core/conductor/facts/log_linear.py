"""The domain of ``log(A exp(c) + b)``: recurrences in log space, however they are stabilised.

A fact is either in log space, ``log(A exp(c) + b) + s``, or its exponential, where ``s`` is a sum
of values of any kind with signs, each along its axes. A maximum that is taken off before ``exp``
and put back after ``log`` cancels; a value that is the same along an axis may be summed along it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from orchestrator_core.conductor.facts.affine import Broken, Fact, Kind, Rule
from orchestrator_core.conductor.facts.linear import DENSE, Along, Linear
from orchestrator_core.conductor.facts.linear import RULES as LINEAR
from orchestrator_core.conductor.facts.logarithm import (
    Excess,
    Largest,
    Logarithm,
    merged,
    moved_by,
    place_of_all,
)
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value


class LogLinear:
    """The domain, for the values of one body."""

    kind = Kind.LOG_LINEAR

    def __init__(self, body: Graph) -> None:
        self._body = body

    def seed(self, carry: Value) -> Fact:
        return Logarithm(False, frozenset(), Linear().seed(carry))

    def rule(self, node: Node) -> Rule | None:
        how = _RULES.get(node.name)
        return None if how is None else lambda node, given: how(self, node, given) or Broken(node)

    def proves(self, fact: Fact, carry: Value) -> bool:
        return isinstance(fact, Logarithm) and not fact.is_exp and not fact.shift

    def is_elementwise(self, fact: Fact, carry: Value) -> bool:
        return Linear().is_elementwise(fact.place, carry)

    def maker(self, atom: Atom, *names: str) -> Node | None:
        """The node that makes a value, if it is one of these."""
        node = self._body.producer.get(atom) if isinstance(atom, Value) else None
        return node if node is not None and node.name in names else None

    def root(self, value: Value) -> tuple[Value, Along]:
        """What a value shows, through views, and the axis of it that each axis goes along."""
        root, views = value, list[Node]()
        while (node := self.maker(root, *_VIEWS)) is not None:
            above = node.inputs[0]
            if not isinstance(above, Value):
                break
            views.append(node)
            root = above
        place = _of_itself(root)
        for node in reversed(views):
            seen = LINEAR[node.name](node, [place])
            is_plain = isinstance(seen, Along)
            root, place = (root, seen) if is_plain else (node.output, _of_itself(node.output))
        return root, place


def _of_itself(value: Value) -> Along:
    axes = enumerate(value.shape)
    return Along(tuple(None if size == 1 else axis for axis, size in axes))


_VIEWS = ("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "stop_gradient", "copy")

How = Callable[[LogLinear, Node, Sequence[Fact]], Fact]


def _shifted(domain: LogLinear, node: Node, side: int, fact: Fact, sign: int) -> Fact:
    """With the other input added in log space."""
    base = Logarithm(False, frozenset(), None) if fact is None else fact
    if not isinstance(base, Logarithm) or base.is_exp:
        return None
    moved, other = moved_by(node, base, side), node.inputs[1 - side]
    if moved is None or not isinstance(other, Value):
        return None
    value, place = domain.root(other)
    spread = LINEAR["add"](node, [place if k == 1 - side else None for k in range(2)])
    counts = Counter(dict(moved.shift))
    counts[value, spread] += sign
    return replace(moved, shift=frozenset((k, n) for k, n in counts.items() if n))


def _difference(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    if given[1] is not None:
        return _shifted(domain, node, 0, given[0], -1)
    fact = given[0]
    return moved_by(node, fact) if isinstance(fact, Logarithm) and not fact.is_exp else None


def _sum(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    if any(fact is None for fact in given):
        return _with_free(domain, node, given)
    if all(isinstance(fact, Logarithm) and fact.is_exp for fact in given):
        return merged(node, given)
    largest = next((fact for fact in given if isinstance(fact, Largest)), None)
    excess = next((fact for fact in given if isinstance(fact, Excess)), None)
    if largest is not None and excess is not None and largest.of == excess.of:
        return merged(node, largest.facts)
    made = [_shifted(domain, node, side, given[side], 1) for side in (0, 1)]
    found = [each for each in made if each is not None]
    return min(found, key=lambda fact: len(fact.shift), default=None)


def _with_free(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    """With something added that does not depend on the carry, and may be below zero."""
    side = 0 if given[0] is not None else 1
    fact = given[side]
    if not isinstance(fact, Logarithm) or (fact.is_exp and fact.shift):
        return None
    moved = moved_by(node, fact, side)
    is_positive = fact.is_positive and domain.maker(node.inputs[1 - side], "exp") is not None
    return None if moved is None else replace(moved, is_positive=is_positive)


def _product(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    side = 0 if given[0] is not None else 1
    fact = given[side]
    if given[1 - side] is not None or not isinstance(fact, Logarithm) or not fact.is_exp:
        return None
    moved = moved_by(node, fact, side)
    return None if moved is None else replace(moved, is_positive=False)


def _quotient(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    return None if given[0] is None else _product(domain, node, given)


def _exp(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    fact = given[0]
    good = isinstance(fact, Logarithm) and not fact.is_exp
    return replace(fact, is_exp=True, is_positive=True) if good else None


def _log(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    fact = given[0]
    good = isinstance(fact, Logarithm) and fact.is_exp
    return replace(fact, is_exp=False, is_positive=False) if good else None


def _absolute(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    fact = given[0]
    return fact if isinstance(fact, Logarithm) and fact.is_positive else None


def _view(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    return moved_by(node, given[0]) if isinstance(given[0], Logarithm) else None


def _joined(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    """Parts side by side, none of them scaled."""
    free = Logarithm(False, frozenset(), None)
    parts = [free if fact is None else fact for fact in given]
    plain = all(
        isinstance(each, Logarithm) and not each.is_exp and not each.shift for each in parts
    )
    return replace(free, place=DENSE) if plain else None


def _total(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    fact = given[0]
    return moved_by(node, fact) if isinstance(fact, Logarithm) and fact.is_exp else None


def _largest(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    free = Logarithm(False, frozenset(), None)
    facts = [free if fact is None else fact for fact in given]
    if any(not isinstance(fact, Logarithm) or fact.is_exp for fact in facts):
        return None
    if any(each.shape != node.output.shape for each in node.inputs):
        return None
    return Largest(frozenset(node.inputs), tuple(facts))


def _excess(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    found: Node | None = node
    for name in ("exp", "neg", "abs", "sub"):
        found = None if found is None else domain.maker(found.inputs[0], name)
    return None if found is None else Excess(frozenset(found.inputs))


def _select(domain: LogLinear, node: Node, given: Sequence[Fact]) -> Fact:
    """Of two the one that is taken where nothing is NaN; or any, if the choice is free."""
    if given[0] is None:
        free = Logarithm(False, frozenset(), None)
        cases = [free if fact is None else fact for fact in given[1:]]
        plain = all(isinstance(each, Logarithm) for each in cases)
        return _alike(cases) if plain else None
    test = domain.maker(node.inputs[0], "ne")
    is_nan = test is not None and test.inputs[0] is test.inputs[1]
    return given[1] if is_nan and len(given) == 3 else None


def _alike(cases: Sequence[Logarithm]) -> Fact:
    """What holds of each of them."""
    if len({(each.is_exp, each.shift) for each in cases}) > 1:
        return None
    positive = all(each.is_positive for each in cases)
    return replace(cases[0], place=place_of_all(cases), is_positive=positive)


_RULES: Mapping[str, How] = {
    **dict.fromkeys((*_VIEWS, "transpose", "convert_element_type", "rev", "slice"), _view),
    **dict.fromkeys(("concatenate", "stack"), _joined),
    **dict.fromkeys(("add", "add_any"), _sum),
    **dict.fromkeys(("mul", "dot_general"), _product),
    "sub": _difference,
    "div": _quotient,
    "abs": _absolute,
    "exp": _exp,
    "log": _log,
    "reduce_sum": _total,
    "max": _largest,
    "log1p": _excess,
    "select_n": _select,
}
"""By primitive. Default: none."""
