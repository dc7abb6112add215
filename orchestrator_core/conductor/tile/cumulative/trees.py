"""Running operations along an axis as trees of slices, as in Blelloch, "Prefix sums and their
applications" (1990), where XLA's own windows take much longer. What loops make is priced with them:
XLA computes each element of such an operand anew in several levels of a tree.

Measured in JAX 0.10.2 and 0.12.0 on a CPU (EPYC, 2026), both an element: `cumlogsumexp` 300 to 350
and 7 to 40 ns; others along another axis than the last 4 to 13 and 0.8 to 1.4, along the last 2 to
13 and 1.5 to 6. Only the order in which numbers are added changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost import price, this_device
from orchestrator_core.conductor.cost.fusion_facts import LOOPS, is_free
from orchestrator_core.conductor.facts.intervals.interval import is_real
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import in_place_of, written
from orchestrator_core.conductor.site import Price

Function = Callable[..., Any]

RUNNING: Mapping[str, tuple[Function, Function]] = {
    "cumsum": (lax.add, lax.cumsum),
    "cumprod": (lax.mul, lax.cumprod),
    "cummax": (lax.max, lax.cummax),
    "cummin": (lax.min, lax.cummin),
    "cumlogsumexp": (jnp.logaddexp, lax.cumlogsumexp),
}
"""By primitive: of two, and running along an axis."""

WORTH = 0.4
"""Of its time a tree must be said to take less. Measured, sums and maxima of four shapes, of what
ten functions make: those that are said to take less take 0.13 to 0.45 of the time, all others 0.35
to 2.8.
"""


@dataclass(frozen=True)
class Tree:
    """Attributes:
    graph: that has the tree instead of the operation. was, now: what both cost.
    """

    graph: Graph
    was: Price
    now: Price

    @classmethod
    def of(cls, graph: Graph, node: Node) -> Tree | None:
        """None if a node of the graph is none of these, or is not done by windows."""
        if node.name not in RUNNING or this_device().platform != "cpu":
            return None
        (array,) = node.inputs
        if not (isinstance(array, Value) and array.size and is_real(array.dtype)):
            return None
        axis, is_reverse = node.params["axis"], node.params["reverse"]
        made = written(lambda x: [by_tree(node.name, x, axis, is_reverse)], [array], node.source)
        before = _with_makers(graph, node)
        return cls(made, price(before), price(in_place_of(before, [node], made, node.outputs)))


def _with_makers(graph: Graph, node: Node) -> Graph:
    """Nothing but a node and the loops that make what it reads."""
    makers = _loops_that_make(graph, node.inputs[0])
    nodes = [each for each in graph.nodes if each in makers or each is node]
    made = {value for each in nodes for value in each.outputs}
    read = dict.fromkeys(v for each in nodes for v in each.inputs if isinstance(v, Value))
    return Graph(tuple(v for v in read if v not in made), node.outputs, tuple(nodes), {})


def _loops_that_make(graph: Graph, operand: Atom) -> set[Node]:
    """Up to what is no loop, each as large as the operand."""
    found: set[Node] = set()
    open_: list[Atom] = [operand]
    while open_:
        atom = open_.pop()
        node = graph.producer.get(atom) if isinstance(atom, Value) else None
        if node is None or node in found or not (node.name in LOOPS or is_free(node)):
            continue
        if node.output.size >= operand.size:
            found.add(node)
            open_.extend(node.inputs)
    return found


def is_faster(node: Node, tree: Tree) -> bool:
    return tree.now.seconds < WORTH * tree.was.seconds


def with_trees(graph: Graph, is_wanted: Callable[[Node, Tree], bool] = is_faster) -> Graph:
    """The same function, with trees where they are wanted."""
    for output in [node.outputs[0] for node in graph.nodes if node.name in RUNNING]:
        # What was rewritten before has changed what it reads.
        node = graph.producer[output]
        tree = Tree.of(graph, node)
        if tree is not None and is_wanted(node, tree):
            graph = in_place_of(graph, [node], tree.graph, [output])
    return graph


def by_tree(name: str, array: Any, axis: int, is_reverse: bool) -> Any:
    return lax.associative_scan(RUNNING[name][0], array, reverse=is_reverse, axis=axis)


def running(name: str, array: Any, axis: int, is_reverse: bool) -> Any:
    """Within a tile. Of sums, which are mostly products there, the primitive takes as long."""
    if name == "cumsum" or this_device().platform != "cpu":
        return RUNNING[name][1](array, axis, reverse=is_reverse)
    return by_tree(name, array, axis, is_reverse)
