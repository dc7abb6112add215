"""Parallel scans back to loops.

``lax.associative_scan`` is no primitive: what is traced is slices, pads and sums on as many levels
as the length has bits. Where it is proven that each result is the product of all that comes before
it, and that the operation is associative, a loop does the same with half of the operations and
without a single shuffle. The result is that of the loop's order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.number_types import in_bits
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.needed import needed
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.products import LEFT, RIGHT, Products
from orchestrator_core.conductor.recurrence.terms import Formula, Leaf, Terms, plain, terms_of

Sliced = tuple[Value, int]
"""An array and the axis along which it is sliced."""

ADDS = ("add", "add_any")

LONGEST = 1 << 15
"""Places; longer ones are left alone, since they are looked at one by one."""


@dataclass(frozen=True)
class Soup:
    """A parallel scan.

    Attributes:
        arrays: of which it makes products, and along which axis. results: the value that holds all
            products of an array's part, from the first place on.
        parts: arrays that are needed for the results.
    """

    terms: Terms
    products: Products
    arrays: tuple[Sliced, ...]
    results: Mapping[int, Value]
    parts: tuple[int, ...]

    @property
    def length(self) -> int:
        value, axis = self.arrays[0]
        return value.shape[axis]

    @property
    def carried(self) -> tuple[int, ...]:
        """The parts that a loop must carry to make the results."""
        found = list(self.results)
        for part in found:
            found += [each for each in _parts(self.products, part, LEFT) if each not in found]
        return tuple(found)

    @property
    def read(self) -> tuple[int, ...]:
        """The parts that a loop must read."""
        right = [each for part in self.carried for each in _parts(self.products, part, RIGHT)]
        return tuple(dict.fromkeys([*self.carried, *right]))

    @property
    def constants(self) -> list[Value]:
        """What the operation reads beside its two tuples."""
        found: dict[Value, None] = {}
        todo = [self.products.pattern[part][0] for part in self.parts]
        while todo:
            term = self.terms.all[todo.pop()]
            if isinstance(term, Formula):
                todo += [each for each in term.inputs if isinstance(each, int)]
                found.update(dict.fromkeys(each for each in term.inputs if isinstance(each, Value)))
        return list(found)

    @property
    def looks(self) -> Hashable:
        """What the operation does, apart from which arrays it is of."""
        parts = {part: k for k, part in enumerate(self.parts)}
        atoms = {value: k for k, value in enumerate(self.constants)}
        rows: dict[tuple[int, int], Hashable] = {}
        names: dict[tuple[int, int], int] = {}

        def name(each: int | Atom, first: int) -> Hashable:
            if not isinstance(each, int):
                return ("atom", atoms[each], each.aval) if each in atoms else plain(each)
            term = self.terms.all[each]
            if isinstance(term, Leaf):
                return "part", parts[term.array], term.place - first
            if (each, first) not in names:
                row = term.same, *(name(one, first) for one in term.inputs)
                names[each, first] = len(names)
                rows[each, first] = row
            return "term", names[each, first]

        ends = tuple(name(*self.products.pattern[part]) for part in self.parts)
        return tuple(map(str, self.avals)), ends, tuple(rows.values())

    def aval(self, part: int) -> Any:
        """Of one place."""
        value, axis = self.arrays[part]
        shape = tuple(1 if k == axis else n for k, n in enumerate(value.shape))
        return value.aval.update(shape=shape, weak_type=False)

    @property
    def avals(self) -> list[Any]:
        return [self.aval(part) for part in self.parts]

    def is_sum(self, part: int) -> bool:
        """Is a part of the product that of the left and that of the right, added up?"""
        number, first = self.products.pattern[part]
        term = self.terms.all[number]
        if not isinstance(term, Formula) or term.node.name not in ADDS:
            return False
        sides = {Leaf(part, first), Leaf(part, first + 1)}
        read = [self.terms.all[each] for each in term.inputs if isinstance(each, int)]
        return len(read) == 2 and set(read) == sides and _jax.is_inexact(self.aval(part).dtype)

    def long(self, dtype: Any, bits: int) -> Any:
        """The type in which a type of the operation is reckoned in so many bits. What it rounds
        to fewer than all of its parts have stays so: that is what it does."""
        own = [each.dtype for each in self.avals if _jax.is_inexact(each.dtype)]
        least = min((_bits(each) for each in own), default=bits)
        return in_bits(dtype, bits, max(SHORTEST, least))

    def on(self, parts: Sequence[int], atoms: Mapping[Value, Any], bits: int) -> Product:
        """Some parts of the product of two tuples, each with one place along its axis, in numbers
        of so many bits at least."""

        def product(left: Mapping[int, Any], right: Mapping[int, Any]) -> list[Any]:
            made = _Made(self, (left, right), atoms, bits)
            return [made.value(*self.products.pattern[part]) for part in parts]

        return product

    def on_all(self, atoms: Mapping[Value, Any], bits: int) -> Any:
        """The same of all parts, as an operation on lists."""
        product = self.on(self.parts, atoms, bits)

        def operation(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
            sides = [dict(zip(self.parts, side, strict=True)) for side in (left, right)]
            return product(*sides)

        return operation


Product = Callable[[Mapping[int, Any], Mapping[int, Any]], list[Any]]


SHORTEST = 16
"""Bits of a number; what is rounded to fewer is another one."""

TYPES = ("new_dtype", "dtype", "preferred_element_type")
"""Parameters that say which type is made."""


def _bits(dtype: Any) -> int:
    return int(jnp.finfo(dtype).bits)  # type: ignore[no-untyped-call]


class _Made:
    """What formulas make of two tuples.

    Args:
        bits: in numbers of so many, at least.
    """

    def __init__(
        self, soup: Soup, sides: Sequence[Mapping[int, Any]], atoms: Mapping[Value, Any], bits: int
    ) -> None:
        self._soup, self._sides, self._atoms, self._bits = soup, sides, atoms, bits
        self._known: dict[tuple[int, int], Any] = {}

    def value(self, number: int, first: int) -> Any:
        """Of a formula, whose left places begin at the first."""
        term = self._soup.terms.all[number]
        if isinstance(term, Leaf):
            return self._sides[term.place - first][term.array]
        if (number, first) not in self._known:
            inputs = [
                self.value(each, first) if isinstance(each, int) else self._array(each)
                for each in term.inputs
            ]
            self._known[number, first] = self._at_one_place(term, inputs)
        return self._known[number, first]

    def _array(self, atom: Atom) -> Any:
        array = atom.value if isinstance(atom, Literal) else self._atoms[atom]
        return jnp.asarray(array, self._soup.long(atom.dtype, self._bits))

    def _at_one_place(self, term: Formula, inputs: Sequence[Any]) -> Any:
        params = dict(term.node.params)
        for name in ("shape", "new_sizes", "limit_indices"):
            if params.get(name) is not None:
                sizes = params[name]
                params[name] = tuple(1 if k == term.axis else n for k, n in enumerate(sizes))
        for name in TYPES:
            if params.get(name) is not None:
                params[name] = self._soup.long(params[name], self._bits)
        return _jax.bind(term.node.primitive, inputs, params)[0]


def soups(graph: Graph) -> Iterator[Soup]:
    """All parallel scans of a graph, those of the longest arrays first."""
    taken: set[Value] = set()
    for arrays in _candidates(graph):
        if any(value in taken for value, _ in arrays):
            continue
        terms = terms_of(graph, arrays)
        taken.update(terms.at)
        yield from _in(graph, terms, arrays)


def _candidates(graph: Graph) -> list[tuple[Sliced, ...]]:
    """Arrays of which every second place is sliced, from place 0, 1 or 2; those of the same length
    along the same axis together."""
    found: dict[tuple[int, int], dict[Value, None]] = {}
    for node in graph.nodes:
        axis = _strided(node)
        if axis is not None and isinstance(node.inputs[0], Value):
            size = node.inputs[0].shape[axis]
            if 4 <= size <= LONGEST:
                found.setdefault((size, axis), {})[node.inputs[0]] = None
    order = sorted(found, key=lambda key: -key[0])
    return [tuple((value, axis) for value in found[size, axis]) for size, axis in order]


def _strided(node: Node) -> int | None:
    if node.name != "slice" or node.params["strides"] is None:
        return None
    axes = [axis for axis, step in enumerate(node.params["strides"]) if step == 2]
    if len(axes) != 1 or node.params["start_indices"][axes[0]] > 2:
        return None
    return axes[0]


def _in(graph: Graph, terms: Terms, arrays: tuple[Sliced, ...]) -> Iterator[Soup]:
    products = Products(terms)
    results: dict[int, Value] = {}
    given = {value for value, _ in arrays}
    length = arrays[0][0].shape[arrays[0][1]]
    for value, (axis, numbers) in terms.at.items():
        if value in given or len(numbers) != length or -1 in numbers:
            continue
        array = _first(terms, int(numbers[0]))
        if array is None or array in results or arrays[array][1] != axis:
            continue
        whole = all(products.span(array, int(n)) == (0, k) for k, n in enumerate(numbers))
        if whole and value.shape == arrays[array][0].shape:
            results[array] = value
    for group in _groups(graph, products, arrays, results):
        parts = set.union(*(_closed(products, array) for array in group))
        made = {array: value for array, value in results.items() if array in group}
        yield Soup(terms, products, arrays, made, tuple(sorted(parts)))


def _first(terms: Terms, number: int) -> int | None:
    term = terms.all[number] if number >= 0 else None
    return term.array if isinstance(term, Leaf) and term.place == 0 else None


def _groups(
    graph: Graph,
    products: Products,
    arrays: Sequence[Sliced],
    results: Mapping[int, Value],
) -> list[set[int]]:
    """Results that one loop makes: those that are made of arrays in common, none of which is made
    of such a result."""
    groups: list[set[int]] = []
    for array in results:
        group = {array}
        for other in list(groups):
            both = group | other
            parts = [_closed(products, each) for each in both]
            given = needed(graph, [arrays[part][0] for part in set.union(*parts)])
            common = any(_closed(products, each) & _closed(products, array) for each in other)
            if common and given.isdisjoint(results[each] for each in both):
                group = both
                groups.remove(other)
        groups.append(group)
    return groups


def _closed(products: Products, array: int, *sides: int) -> set[int]:
    """The arrays of which a part of the product is made, and of which those are, and so on."""
    found, todo = {array}, [array]
    while todo:
        more = _parts(products, todo.pop(), *sides) - found
        found |= more
        todo += more
    return found


def _parts(products: Products, array: int, *sides: int) -> set[int]:
    """Arrays of which the part of an array is made, on one side or on both."""
    if array not in products.pattern:
        return set()
    number, first = products.pattern[array]
    places = [first + side for side in sides or (LEFT, RIGHT)]
    return {leaf.array for leaf in products.leaves(number) if leaf.place in places}
