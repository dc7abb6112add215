"""The domain of ``max(c + a, b)``, of min for max, and of the same in ``or`` and ``and``.

A fact says which of them. What is proven is that elements are compared with others of the same
place alone, or (as of maxima along an axis) of any place. Nothing is added to whole numbers: they
wrap around, and then what was larger is smaller; nor does a sum of them say which bits are set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator_core.conductor._jax import is_inexact
from orchestrator_core.conductor.facts.affine import Broken, Fact, Kind, Rule
from orchestrator_core.conductor.facts.linear import RULES as LINEAR
from orchestrator_core.conductor.facts.linear import Linear
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value


@dataclass(frozen=True)
class Extreme:
    """Attributes:
    of: ``max``, ``min``, ``or``, ``and``; empty while nothing has been compared yet.
    place: where its elements are, as in the linear domain.
    """

    of: str
    place: Fact


class Tropical:
    """The domain."""

    kind = Kind.TROPICAL

    def seed(self, carry: Value) -> Fact:
        return Extreme("", Linear().seed(carry))

    def rule(self, node: Node) -> Rule | None:
        how = RULES.get(node.name)
        return None if how is None else lambda node, given: _fact(how, node, given)

    def proves(self, fact: Fact, carry: Value) -> bool:
        return isinstance(fact, Extreme)

    def is_elementwise(self, fact: Fact, carry: Value) -> bool:
        return Linear().is_elementwise(fact.place, carry)


How = Callable[[Node, Sequence[Fact]], str | None]
"""Which comparison the result is of; None if it is of none."""


def _fact(how: How, node: Node, given: Sequence[Fact]) -> Fact:
    broken = next((fact for fact in given if isinstance(fact, Broken)), None)
    of = how(node, given) if broken is None else None
    if of is None:
        return broken or Broken(node)
    places = [None if fact is None else fact.place for fact in given]
    place = LINEAR[_LIKE.get(node.name, node.name)](node, places)
    return Broken(node) if place is None else Extreme(of, place)


def _same(node: Node, given: Sequence[Fact]) -> str | None:
    """What moves elements, or adds something free to each."""
    found = {fact.of for fact in given if fact is not None}
    return found.pop() if len(found) == 1 else None


def _shift(node: Node, given: Sequence[Fact]) -> str | None:
    """The sum of two that depend on the carry would be its double."""
    is_double = all(fact is not None for fact in given)
    return None if is_double or not is_inexact(node.output.dtype) else _same(node, given)


def _less(node: Node, given: Sequence[Fact]) -> str | None:
    return None if given[1] is not None else _shift(node, given)


def _compare(node: Node, given: Sequence[Fact]) -> str | None:
    of = node.name.removeprefix("reduce_")
    return of if {fact.of for fact in given if fact is not None} <= {"", of} else None


def _select(node: Node, given: Sequence[Fact]) -> str | None:
    """Of what is free ``b`` is that, and ``a`` is minus infinity."""
    found = {fact.of for fact in given[1:] if fact is not None} - {""}
    return None if given[0] is not None or len(found) > 1 else next(iter(found), "")


RULES: Mapping[str, How] = {
    **dict.fromkeys(("max", "min", "or", "and"), _compare),
    **dict.fromkeys(("reduce_max", "reduce_min", "reduce_or", "reduce_and"), _compare),
    **dict.fromkeys(("add", "add_any"), _shift),
    **dict.fromkeys(("copy", "copy_p", "stop_gradient", "transpose", "broadcast_in_dim"), _same),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims", "rev", "slice"), _same),
    "convert_element_type": _same,
    "sub": _less,
    "select_n": _select,
}
"""By primitive. Default: none."""

_LIKE = {
    **dict.fromkeys(("max", "min", "or", "and"), "add"),
    **dict.fromkeys(("reduce_max", "reduce_min", "reduce_or", "reduce_and"), "reduce_sum"),
}
"""What moves places in the same way."""
