"""Levels: after how many passes each value can be known, and how rewrites lower that.

A boundary is one level above the highest of its operands, so passes never wait for each other in a
circle. R1 and R2 make the level of a sum that of its terms plus one; R3 makes it that of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import jax.numpy as jnp

from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.tile.exchange import exchanged
from orchestrator_core.conductor.tile.hoist import IsKnown, product_of
from orchestrator_core.conductor.tile.plans import Levels, Plan
from orchestrator_core.conductor.tile.recipe import Wanted
from orchestrator_core.conductor.tile.region import Boundary, Region
from orchestrator_core.conductor.tile.terms import Product, Term


def levels_of(region: Region, is_strict: bool) -> Levels:
    """A plan for each boundary; `is_strict` allows no rewrite that is only true of real numbers."""
    return _Leveller(region, is_strict).done()


class _Leveller:
    def __init__(self, region: Region, is_strict: bool) -> None:
        self.region, self.is_strict = region, is_strict
        self.level: dict[Value, int] = {}
        self.plans: dict[Node, Plan] = {}
        self.stored = set(region.stored)
        self.tiled = set(region.owned).difference(region.solid)

    def done(self) -> Levels:
        for node in self.region.flow.graph.nodes:
            boundary = self.region.boundaries.get(node)
            if boundary is None:
                level = max((self._read(each, node) for each in node.inputs), default=0)
            else:
                self.plans[node] = self._plan(boundary)
                level = self.plans[node].known
            if level:
                self.level.update(dict.fromkeys(node.outputs, level))
        stores = {value: self._of(value) + 1 for value in self.stored}
        return Levels(self.plans, stores)

    def _of(self, atom: Atom) -> int:
        return 0 if isinstance(atom, Literal) else self.level.get(atom, 0)

    def _read(self, atom: Atom, reader: Node) -> int:
        """What is stored tile by tile can be read as a whole only after that."""
        outside = atom in self.stored and self.tiled.isdisjoint(reader.outputs)
        return self._of(atom) + outside

    def _highest(self, wanted: Iterable[Wanted], default: int = 0) -> int:
        return max(
            (0 if isinstance(w, Literal) else self._of(w[0]) for w in wanted), default=default
        )

    def _plan(self, boundary: Boundary) -> Plan:
        level = 1 + max(self._of(each) for each in boundary.node.inputs)
        plan = Plan(boundary, level, level)
        if self.is_strict or not sums_one_role(self.region, boundary):
            return plan
        plan = self._hoisted(plan) or plan
        found = self._exchanged(boundary)
        return found if found is not None and found.known <= plan.known else plan

    def _exchanged(self, boundary: Boundary) -> Plan | None:
        for level in sorted({plan.level for plan in self.plans.values()}):
            found = exchanged(
                self.region, boundary, self.plans, self._highest, self._is_known(level)
            )
            if found is not None:
                return found
        return None

    def _is_known(self, level: int) -> IsKnown:
        """In a pass of this level."""
        return lambda atom: self._of(atom) < level

    def _hoisted(self, plan: Plan) -> Plan | None:
        """With the sum of the terms alone, if that can be taken earlier."""
        boundary = plan.boundary
        level = self._level(self._products(boundary, 0))
        if level >= plan.level:
            return None
        products = self._products(boundary, level)
        exponentials = [
            term for product in products for term in product.terms if term.is_exponential
        ]
        if len(exponentials) > 1:
            return None
        outside = [wanted for product in products for wanted in product.outside]
        return Plan(boundary, level, max(level, self._highest(outside)), products)

    def _level(self, products: Iterable[Product]) -> int:
        """Of the pass in which the terms can be summed."""
        terms = [term for product in products for term in product.terms]
        return 1 + max((self._of(term.value) for term in terms), default=0)

    def _products(self, boundary: Boundary, level: int) -> tuple[Product, ...]:
        """The operands taken apart as far as they are not known in a pass of this level."""
        sides = range(len(boundary.inputs))
        return tuple(self._product(boundary, side, level) for side in sides)

    def _product(self, boundary: Boundary, side: int, level: int) -> Product:
        value, spec = boundary.node.inputs[side], boundary.inputs[side]
        if isinstance(value, Literal):
            return Product()
        (role,) = boundary.reduced
        if sum(role is not None for axis in spec for _, role in axis) < 2:
            return Product(terms=(Term(value, spec, ()),))
        return product_of(self.region, value, spec, role, self._is_known(level))


def sums_one_role(region: Region, boundary: Boundary) -> bool:
    """Is it a sum of numbers over one role, and over nothing else?"""
    node = boundary.node
    if node.name not in ("reduce_sum", "dot_general") or len(boundary.reduced) != 1:
        return False
    if not jnp.issubdtype(node.output.dtype, jnp.floating):
        return False
    (role,) = boundary.reduced
    one_role = ((region.length[role], role),)
    return all(
        spec[axis] in ((), one_role)
        for spec, axes in zip(boundary.inputs, summed_axes(node), strict=True)
        for axis in axes
    )


def summed_axes(node: Node) -> Sequence[Sequence[int]]:
    """Of each operand of a sum."""
    return [node.params["axes"]] if node.name == "reduce_sum" else Sides.of(node).contracted
