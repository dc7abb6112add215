"""Facts of values in log space, and how operations move and join them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator_core.conductor.facts.affine import Fact
from orchestrator_core.conductor.facts.linear import DENSE, Along
from orchestrator_core.conductor.facts.linear import RULES as LINEAR
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value

Shift = frozenset[tuple[tuple[Value, Along], int]]
"""Values, each along its axes, and how often they are added."""


@dataclass(frozen=True)
class Logarithm:
    """Attributes:
    is_exp: is it the exponential? shift: what is added in log space. place: where elements of the
        carry are, as in the linear domain. is_positive: is it a sum of exponentials alone?
    """

    is_exp: bool
    shift: Shift
    place: Fact
    is_positive: bool = False


@dataclass(frozen=True)
class Largest:
    """The maximum of two values in log space, and what is known of them."""

    of: frozenset[Atom]
    facts: tuple[Logarithm, ...]


@dataclass(frozen=True)
class Excess:
    """``log(1 + exp(-|x - y|))``, by which ``log(exp(x) + exp(y))`` exceeds their maximum."""

    of: frozenset[Atom]


def moved_by(node: Node, fact: Logarithm, side: int = 0) -> Fact:
    """A fact of one input as one of the result, moved as a linear operation would."""

    def moved(place: Fact) -> Fact:
        given = [place if k == side else None for k in range(len(node.inputs))]
        return LINEAR[node.name](node, given)

    shift = [((value, moved(place)), count) for (value, place), count in fact.shift]
    if any(place == DENSE or place is None for (_, place), _ in shift):
        return None
    place = None if fact.place is None else moved(fact.place)
    if place is None and fact.place is not None:
        return None
    return replace(fact, shift=frozenset(shift), place=place)


def merged(node: Node, given: Sequence[Fact]) -> Fact:
    """Of a sum of exponentials: what they are scaled by must be the same."""
    if not all(isinstance(fact, Logarithm) for fact in given):
        return None
    moved = [moved_by(node, fact, side) for side, fact in enumerate(given)]
    if any(each is None for each in moved) or len({each.shift for each in moved}) > 1:
        return None
    positive = all(each.is_positive for each in moved)
    return replace(moved[0], place=place_of_all(moved), is_positive=positive)


def place_of_all(facts: Sequence[Logarithm]) -> Fact:
    """Where elements of the carry are in something made of all of these."""
    places = [each.place for each in facts if each.place is not None]
    return DENSE if any(each != places[0] for each in places) else next(iter(places), None)
