"""The cheapest cut is the cheapest of all."""

from __future__ import annotations

import itertools
import random

import pytest

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.cut import NEVER, cheapest_cut


def value() -> Value:
    return Value(_jax.ShapedArray((), "float32"))


def a_graph(dice: random.Random) -> Graph:
    """Two inputs, and six nodes that read one or two earlier values and make one or two."""
    values = [value(), value()]
    nodes = []
    for _ in range(6):
        inputs = tuple(dice.sample(values, dice.choice([1, 2])))
        outputs = tuple(value() for _ in range(dice.choice([1, 1, 2])))
        nodes.append(Node("any", inputs, outputs, list))
        values += outputs
    return Graph(tuple(values[:2]), tuple(values[-2:]), tuple(nodes), {})


def price_of(graph: Graph, needed, again, keeping, redoing) -> float:
    """Of doing these nodes again, and keeping what they and the needed read beside."""
    made = {each for node in again for each in node.outputs}
    read = {each for node in again for each in node.inputs} | set(needed)
    return sum(map(redoing, again)) + sum(keeping(each) for each in read - made)


@pytest.mark.parametrize("seed", range(30))
def test_no_choice_is_cheaper(seed: int) -> None:
    dice = random.Random(seed)
    graph = a_graph(dice)
    prices: dict[object, float] = {}

    def priced(each: object) -> float:
        return prices.setdefault(each, dice.choice([0, 1, 2, 3, 5, 8, 13, NEVER]))

    needed = [each for node in graph.nodes[3:] for each in node.outputs][:3]
    every = (
        price_of(graph, needed, again, priced, priced)
        for count in range(len(graph.nodes) + 1)
        for again in itertools.combinations(graph.nodes, count)
    )
    best = min(every)
    cut = cheapest_cut(graph, needed, priced, priced)
    if best == NEVER:
        assert cut is None
    else:
        assert cut is not None
        assert cut.price == pytest.approx(best, abs=1e-6)
        assert price_of(graph, needed, cut.redone, priced, priced) == pytest.approx(best)


def test_of_equal_cuts_the_one_with_the_least_work() -> None:
    first, middle, last = value(), value(), value()
    one, two = Node("a", (first,), (middle,), list), Node("b", (middle,), (last,), list)
    graph = Graph((first,), (last,), (one, two), {})
    cut = cheapest_cut(graph, [last], lambda each: 9.0 if each is last else 1.0, lambda node: 0.0)
    assert cut is not None
    assert cut.kept == (middle,)
    assert cut.redone == (two,)
    assert cut.of([middle]).redone == ()
