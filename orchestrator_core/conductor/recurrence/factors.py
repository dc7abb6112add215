"""Sums of products with named axes, as einsum has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from orchestrator_core.conductor.ir.value import Atom


@dataclass(frozen=True)
class Factor:
    """A value, a label for each of its axes, and whether it divides."""

    value: Atom
    labels: tuple[int, ...]
    is_inverse: bool = False


@dataclass(frozen=True)
class Term:
    """Attributes:
    factors: of the product. labels: of the axes of what it makes; where no factor has one, all
        elements along that axis are the same.
    sign: 1 or -1.
    """

    factors: tuple[Factor, ...]
    labels: tuple[int, ...]
    sign: int = 1

    def renamed(self, names: Mapping[int, int], labels: tuple[int, ...]) -> Term:
        """The same with other labels, and axes in another order."""
        made = (
            replace(each, labels=tuple(names.get(k, k) for k in each.labels))
            for each in self.factors
        )
        return Term(tuple(made), labels, self.sign)

    def times(self, other: Term, labels: tuple[int, ...]) -> Term:
        return Term((*self.factors, *other.factors), labels, self.sign * other.sign)


Sum: TypeAlias = tuple[Term, ...]
