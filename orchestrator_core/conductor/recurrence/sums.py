"""Sums of matrix products over all steps of a loop, as one matrix product.

A traced backward loop carries the gradient of each matrix and adds an outer product in each step.
What nobody reads before the last step need not be carried: ``sum_t a_t b_t`` contracts over time,
too. Where numbers have 32 bits and more, only the order of the sum changes; of fewer, products are
rounded once they are summed, not one by one.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.facts.linear import DENSE
from orchestrator_core.conductor.facts.linear import RULES as LINEAR
from orchestrator_core.conductor.facts.number_types import is_precise
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan, stacked
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.recurrence.parts import piece, trimmed
from orchestrator_core.conductor.recurrence.splice import spliced

ADDS = ("add", "add_any")


@dataclass(frozen=True)
class Product:
    """A matrix product that is added to a carry in each step.

    Attributes:
        carry: which. term: what is added. dot: the product. views: what is done to the product to
            make the term, but for its type.
        dtype: in which it is summed.
    """

    carry: int
    term: Value
    dot: Node
    views: tuple[Node, ...]
    dtype: Any

    @property
    def operands(self) -> list[Value]:
        return [each for each in self.dot.inputs if isinstance(each, Value)]

    def summed(self, left: Any, right: Any) -> Any:
        """Over all steps, of operands that are stacked along axis 0."""
        contracted, batch = self.dot.params["dimension_numbers"]
        contracted = tuple((0, *(axis + 1 for axis in axes)) for axes in contracted)
        batch = tuple(tuple(axis + 1 for axis in axes) for axes in batch)
        made = lax.dot_general(
            self._in_type(left),
            self._in_type(right),
            (contracted, batch),
            precision=self.dot.params["precision"],
            preferred_element_type=self.dtype,
        )
        for view in self.views:
            (made,) = view.apply([made])
        return made

    def _in_type(self, factor: Any) -> Any:
        """A factor as this device can sum products of it in that type. CPUs have sums in 32 bits of
        products in 16 only as long as operands lie one way (see `oriented`), which XLA may change.
        """
        is_float = jnp.issubdtype(self.dtype, jnp.inexact)
        is_known = this_device().platform != "cpu" and is_float and _bits(self.dtype) == LONG
        return factor.astype(self.dtype) if is_float and not is_known else factor


LONG = 32
"""Bits of a number that no step rounds by more than another order of sums does."""


def products(scan: Scan, *, is_strict: bool = False) -> list[Product]:
    """Those of a scan that are worth it: with operands that are smaller than what they make.

    Args:
        is_strict: only those of which nothing but the order of the sum changes.
    """
    found = []
    for place in range(len(scan.carry)):
        for term in _terms(scan, place):
            one = _product(scan, place, term, LONG if is_strict else 0)
            if one is not None:
                found.append(one)
    return found


def _terms(scan: Scan, place: int) -> list[Value]:
    """What is added to a carry that is read by nobody else; empty if that is not all."""
    given, handed = scan.carry_inputs[place], scan.carry_outputs[place]
    value, terms = given, list[Value]()
    while value is not handed:
        readers = scan.body.consumers.get(value, ())
        if len(readers) != 1 or readers[0].name not in ADDS or value in scan.body.outputs:
            return []
        others = [each for each in readers[0].inputs if each is not value]
        if len(others) != 1 or not isinstance(others[0], Value):
            return []
        terms.append(others[0])
        value = readers[0].output
    if scan.body.outputs.count(value) > 1 or scan.body.consumers.get(value):
        return []
    return [leaf for term in terms for leaf in _leaves(scan.body, term)]


def _leaves(body: Graph, term: Value) -> list[Value]:
    node = body.producer.get(term)
    if node is None or node.name not in ADDS:
        return [term]
    parts = [each for each in node.inputs if isinstance(each, Value)]
    if len(parts) < 2 or any(each.shape != term.shape for each in parts):
        return [term]
    return [leaf for each in parts for leaf in _leaves(body, each)]


def _product(scan: Scan, place: int, term: Value, bits: int) -> Product | None:
    """Args:
    bits: so many must all numbers have that a step rounds.
    """
    node, between = scan.body.producer.get(term), list[Node]()
    while node is not None and node.name in ("transpose", "reshape", "convert_element_type"):
        between.insert(0, node)
        (source,) = node.inputs
        node = scan.body.producer.get(source) if isinstance(source, Value) else None
    if node is None or node.name != "dot_general":
        return None
    carry, made = scan.carry_inputs[place], [node.output, *(each.output for each in between)]
    may_wait = all(_may_wait(each, bits) for each in (carry, *made))
    if not may_wait or not all(map(_is_linear, between)):
        return None
    views = tuple(each for each in between if each.name != "convert_element_type")
    one = Product(place, term, node, views, _summing_type(node.output, carry))
    small = sum(each.nbytes for each in one.operands) <= node.output.nbytes // 2
    moving = not set(one.operands) & set(scan.const_inputs)
    return one if small and moving and len(one.operands) == 2 else None


def _may_wait(value: Value, bits: int) -> bool:
    """May what each step rounds to this type be rounded once for all of them?"""
    if not jnp.issubdtype(value.dtype, jnp.inexact):
        return True
    return is_precise(value.dtype) and _bits(value.dtype) >= bits


def _is_linear(view: Node) -> bool:
    """Is it the same of a sum as the sum of it? So is not what makes whole numbers of others."""
    return view.name != "convert_element_type" or LINEAR[view.name](view, [DENSE]) is not None


def _bits(dtype: Any) -> int:
    return int(jnp.finfo(dtype).bits)  # type: ignore[no-untyped-call]


def _summing_type(product: Value, carry: Value) -> Any:
    """That of the product, of no fewer bits than 32 and than what it is added to: a carry in which
    steps add up short numbers is not to end as one of them."""
    if not jnp.issubdtype(product.dtype, jnp.inexact):
        return product.dtype
    long = jnp.float64 if _bits(carry.dtype) > LONG else jnp.float32
    return jnp.promote_types(product.dtype, long)


def done_at_the_end(graph: Graph, node: Node, found: Sequence[Product]) -> Graph:
    """The graph in which these products are summed after the scan."""
    scan = Scan.of(node)
    places = list(dict.fromkeys(each.carry for each in found))
    body, whole = _body_without(scan, found)
    made = len(scan.carry) + len(scan.ys)
    kept = [k for k in range(len(scan.carry)) if k not in whole]
    sums = {k: Value(scan.last[k].aval) for k in kept if k in places}
    outer: dict[Value, Atom] = dict(zip(scan.x_inputs, scan.xs, strict=True))
    operands = list(dict.fromkeys(value for each in found for value in each.operands))
    more = {value: stacked(value, scan.length) for value in operands if value not in outer}
    rest = dataclasses.replace(
        scan,
        carry=tuple(scan.carry[k] for k in kept),
        last=tuple(sums.get(k, scan.last[k]) for k in kept),
        ys=(*scan.ys, *more.values()),
        body=piece(
            body,
            [*scan.const_inputs, *(scan.carry_inputs[k] for k in kept), *scan.x_inputs],
            [*(body.outputs[k] for k in kept), *body.outputs[len(scan.carry) : made], *more],
        ),
    )

    def function(*arrays: Any) -> list[Any]:
        ends = dict(zip(places, arrays, strict=False))
        of = dict(zip(operands, arrays[len(places) :], strict=True))
        for each in found:
            made = each.summed(*(of[value] for value in each.operands))
            ends[each.carry] = ends[each.carry] + made.astype(ends[each.carry].dtype)
        return list(ends.values())

    nodes = [trimmed(rest).node() if each is node else each for each in graph.nodes]
    starts = [sums.get(k, scan.carry[k]) for k in places]
    return spliced(
        dataclasses.replace(graph, nodes=tuple(nodes)),
        function,
        [*starts, *((outer | more)[value] for value in operands)],
        [scan.last[k] for k in places],
        node.source,
    )


def _body_without(scan: Scan, found: Sequence[Product]) -> tuple[Graph, list[int]]:
    """The body that adds only what else is added, and also makes what the products are of; and the
    carries to which nothing else is added."""
    operands = tuple(dict.fromkeys(value for each in found for value in each.operands))
    body = dataclasses.replace(scan.body, outputs=(*scan.body.outputs, *operands))
    whole = list[int]()
    for place in dict.fromkeys(each.carry for each in found):
        taken = {each.term for each in found if each.carry == place}
        left = [term for term in _terms(scan, place) if term not in taken]
        handed = scan.carry_outputs[place]
        if not left:
            whole.append(place)
        elif isinstance(handed, Value):
            body = spliced(body, _sum, [scan.carry_inputs[place], *left], [handed])
    return body, whole


def _sum(*arrays: Any) -> list[Any]:
    return [functools.reduce(operator.add, arrays)]
