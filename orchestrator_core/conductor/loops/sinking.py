"""What a scan is given whole in every step, made anew in its body where that is cheaper.

JAX hoists what does not depend on the step out of a scan, masks of all pairs as well. Read from
memory in every step they cost more than the few operations that make them, and no tile of them
can be made on demand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from orchestrator_core.conductor.cost.fusion_facts import FREE, LOOPS
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.substitute import cloned, substituted
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.loops.cut import NEVER, Cut, cheapest_cut
from orchestrator_core.conductor.loops.expanded import expanded
from orchestrator_core.conductor.loops.prices import Prices
from orchestrator_core.conductor.loops.redoing import may_be_redone

CHEAP = LOOPS | FREE
"""What XLA computes inside whoever reads it."""


def sunk(
    graph: Graph, node: Node, least: int, large: int, with_products: bool = False
) -> Scan | None:
    """The scan, which makes itself what it was given; None if there is nothing that costs less to
    make than to read.

    Args:
        least: elements of constants that are looked at. large: and of values of all pairs, which
            are made inside whatever that costs.
        with_products: also if matrix products make them.
    """
    scan = Scan.of(node)
    wanted = [
        each
        for each in dict.fromkeys(scan.consts)
        if isinstance(each, Value) and each in graph.producer and each.size >= least
    ]
    cut = _cut(graph, wanted, large, with_products)
    return _with_cut(scan, wanted, cut) if cut is not None and cut.redone else None


def _cut(graph: Graph, wanted: list[Value], large: int, with_products: bool) -> Cut | None:
    def is_cheap(node: Node) -> bool:
        is_product = with_products and node.name == "dot_general"
        return node.name in CHEAP or (is_product and bool(expanded(graph, [node], (), large)))

    nodes = _before(graph, wanted, is_cheap)
    prices = Prices((), expanded(graph, nodes, (), large))

    def redoing(node: Node) -> float:
        return prices.redoing(node) if node in nodes else NEVER

    return cheapest_cut(graph, wanted, prices.keeping, redoing)


def _before(graph: Graph, values: Iterable[Value], is_cheap: Callable[[Node], bool]) -> set[Node]:
    """What the values are made by, as far up as it is cheap."""
    found: set[Node] = set()
    open_ = list(values)
    while open_:
        node = graph.producer.get(open_.pop())
        if node is not None and node not in found and is_cheap(node) and may_be_redone(node):
            found.add(node)
            open_ += [each for each in node.inputs if isinstance(each, Value)]
    return found


def _with_cut(scan: Scan, wanted: list[Value], cut: Cut) -> Scan:
    made = {value for node in cut.redone for value in node.outputs}
    gone = {each for each in wanted if each in made}
    names: dict[Value, Atom] = {}
    consts = [
        (outside, inside)
        for outside, inside in zip(scan.consts, scan.const_inputs, strict=True)
        if isinstance(outside, Literal) or outside not in gone
    ]
    for outside, inside in consts:
        if isinstance(outside, Value):
            names.setdefault(outside, inside)
    for value in cut.of(gone).kept:
        if value not in names:
            consts.append((value, Value(value.aval)))
            names[value] = consts[-1][1]
    nodes = cloned(cut.of(gone).redone, names)
    stands_for = {
        inside: names[outside]
        for outside, inside in zip(scan.consts, scan.const_inputs, strict=True)
        if isinstance(outside, Value) and outside in gone
    }
    body = substituted(scan.body, stands_for)
    inputs = (*(i for _, i in consts), *scan.carry_inputs, *scan.x_inputs)
    body = dataclasses.replace(body, inputs=inputs, nodes=(*nodes, *body.nodes))
    return dataclasses.replace(scan, consts=tuple(outside for outside, _ in consts), body=body)
