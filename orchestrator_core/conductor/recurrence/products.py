"""Products of neighbours: proof that formulas are one operation, applied in brackets.

If ``f`` takes two tuples, then each formula of ``f(f(e0, e1), f(e2, e3))`` is read as that by
matching ``f``'s own formula from the outside in. Every way of putting brackets is found right; that
all are equal is what associativity of ``f`` says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator_core.conductor.ir.value import Atom
from orchestrator_core.conductor.recurrence.terms import Leaf, Terms, plain

LEFT, RIGHT = 0, 1

Span = tuple[int, int]
"""The first and the last place of a product."""


@dataclass
class Products:
    """What is known of the operation.

    Attributes:
        pattern: for each array, the number of the formula of two neighbours; and the left one's
            place.
    """

    terms: Terms
    pattern: dict[int, tuple[int, int]] = field(default_factory=dict)
    _known: dict[tuple[int, int], Span | None] = field(default_factory=dict)

    def span(self, array: int, number: int) -> Span | None:
        """Of which places the term is that array's part of the product; None if of none."""
        key = array, number
        if key not in self._known:
            self._known[key] = None  # while it is looked for
            self._known[key] = self._span(array, number)
        return self._known[key]

    def _span(self, array: int, number: int) -> Span | None:
        if number < 0:
            return None
        term = self.terms.all[number]
        if isinstance(term, Leaf):
            return (term.place, term.place) if term.array == array else None
        if array not in self.pattern:
            places = {leaf.place for leaf in self.leaves(number)}
            if len(places) != 2 or max(places) - min(places) != 1:
                return None
            self.pattern[array] = number, min(places)
            return min(places), max(places)
        bound: dict[tuple[int, int], int] = {}
        pattern, first = self.pattern[array]
        if not self._match(pattern, first, number, bound):
            return None
        left, right = self._side(bound, LEFT), self._side(bound, RIGHT)
        if left is None or right is None or left[1] + 1 != right[0]:
            return None
        return left[0], right[1]

    def _side(self, bound: dict[tuple[int, int], int], side: int) -> Span | None:
        """Of one side all parts must be of the same places."""
        spans = {self.span(array, number) for (s, array), number in bound.items() if s == side}
        return spans.pop() if len(spans) == 1 else None

    def _match(
        self, pattern: int, first: int, number: int, bound: dict[tuple[int, int], int]
    ) -> bool:
        """Is the term the pattern with other terms in the place of its leaves?"""
        shape = self.terms.all[pattern]
        if isinstance(shape, Leaf):
            key = shape.place - first, shape.array
            return bound.setdefault(key, number) == number
        term = self.terms.all[number] if number >= 0 else None
        if term is None or isinstance(term, Leaf) or shape.same != term.same:
            return False
        return all(
            self._match(a, first, b, bound)
            if isinstance(a, int) and isinstance(b, int)
            else _is_same(a, b)
            for a, b in zip(shape.inputs, term.inputs, strict=True)
        )

    def leaves(self, number: int) -> set[Leaf]:
        found: set[Leaf] = set()
        seen: set[int] = set()
        todo = [number]
        while todo and len(found) <= 2 * len(self.terms.at):
            term = self.terms.all[todo.pop()]
            if isinstance(term, Leaf):
                found.add(term)
                continue
            more = [each for each in term.inputs if isinstance(each, int) and each not in seen]
            seen.update(more)
            todo += more
        return found


def _is_same(a: int | Atom, b: int | Atom) -> bool:
    return not isinstance(a, int) and not isinstance(b, int) and plain(a) == plain(b)
