"""Sums of matrix products over all steps of a loop, as one matrix product.

A traced backward loop carries the gradient of each matrix and adds an outer product in each step.
What nobody reads before the last step need not be carried: ``sum_t a_t b_t`` contracts over time,
too. Only the order of the sum changes.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

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
            make the term.
    """

    carry: int
    term: Value
    dot: Node
    views: tuple[Node, ...]

    @property
    def operands(self) -> list[Value]:
        return [each for each in self.dot.inputs if isinstance(each, Value)]

    def summed(self, left: Any, right: Any) -> Any:
        """Over all steps, of operands that are stacked along axis 0."""
        contracted, batch = self.dot.params["dimension_numbers"]
        contracted = tuple((0, *(axis + 1 for axis in axes)) for axes in contracted)
        batch = tuple(tuple(axis + 1 for axis in axes) for axes in batch)
        made = jax.lax.dot_general(
            left,
            right,
            (contracted, batch),
            precision=self.dot.params["precision"],
            preferred_element_type=self.dot.params["preferred_element_type"],
        )
        for view in self.views:
            (made,) = view.apply([made])
        return made


def products(scan: Scan) -> list[Product]:
    """Those of a scan that are worth it: with operands that are smaller than what they make."""
    found = []
    for place in range(len(scan.carry)):
        for term in _terms(scan, place):
            product = _product(scan, place, term)
            if product is not None:
                found.append(product)
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


def _product(scan: Scan, place: int, term: Value) -> Product | None:
    node, views = scan.body.producer.get(term), list[Node]()
    while node is not None and node.name in ("transpose", "reshape", "convert_element_type"):
        views.insert(0, node)
        (source,) = node.inputs
        node = scan.body.producer.get(source) if isinstance(source, Value) else None
    if node is None or node.name != "dot_general":
        return None
    product = Product(place, term, node, tuple(views))
    small = sum(each.nbytes for each in product.operands) <= node.output.nbytes // 2
    moving = not set(product.operands) & set(scan.const_inputs)
    return product if small and moving and len(product.operands) == 2 else None


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
