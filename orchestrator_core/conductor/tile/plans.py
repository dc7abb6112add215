"""Plans: in which pass each boundary is summed, as what, and when its value is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.region import Boundary
from orchestrator_core.conductor.tile.terms import Product, Term

Label: TypeAlias = str | None
"""Of an axis: equal labels run together. None: of one element."""

Labels: TypeAlias = list[Label]


@dataclass(frozen=True, eq=False)
class Sole:
    """Where one element of a sum is all that counts; see `sole`.

    Attributes:
        exponential: the term whose elements they are. total: the boundary that sums it alone.
        shift_labels, total_labels: of the axes of its running maximum, and of its sum.
        again: the sum that is read off, once more. limit: for each of its elements the number
            that an exponent in a tile must reach, so that this tile has all that counts.
    """

    exponential: Term
    total: Node
    shift_labels: tuple[Label, ...]
    total_labels: tuple[Label, ...]
    again: Value
    limit: Value


@dataclass(frozen=True)
class Exchange:
    """R3: a sum that is read off another sum; see `exchange`.

    Attributes:
        source: the other boundary. other: what its result is contracted with.
        other_labels, source_labels, out_labels: of the axes of `other`, of the other boundary's
            result, and of this one's.
        sole: of a sum of exponentials.
    """

    source: Node
    other: Atom
    other_labels: tuple[Label, ...]
    source_labels: tuple[Label, ...]
    out_labels: tuple[Label, ...]
    sole: Sole | None = None


@dataclass(frozen=True)
class Plan:
    """Attributes:
    level: of the pass in which its tiles are accumulated. known: after which pass its value is.
    products: its operands taken apart, so that only their terms are summed; empty if they are
        summed as they are.
    """

    boundary: Boundary
    level: int
    known: int
    products: tuple[Product, ...] = ()
    exchange: Exchange | None = None

    @property
    def node(self) -> Node:
        return self.boundary.node

    @property
    def role(self) -> Role:
        """The only one that is summed, of one that has products."""
        (role,) = self.boundary.reduced
        return role

    @property
    def exponential(self) -> tuple[int, Term] | None:
        """The term that is shifted as the sum goes on, and of which operand."""
        for side, product in enumerate(self.products):
            if product.exponential is not None:
                return side, product.exponential
        return None


@dataclass(frozen=True)
class Levels:
    """Attributes:
    plans: of all boundaries. stores: of values that are written as a whole, their level.
    """

    plans: dict[Node, Plan]
    stores: dict[Value, int]

    @property
    def passes(self) -> list[int]:
        """Their levels, in order."""
        summed = {plan.level for plan in self.plans.values() if plan.exchange is None}
        return sorted(summed | set(self.stores.values()))
