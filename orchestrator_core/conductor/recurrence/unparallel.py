"""Parallel scans done as loops, where that is proven right and predicted to be cheaper."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.cost import price
from orchestrator_core.conductor.facts.monoid import BITS, is_associative
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.recurrence.absorb import absorb, absorb_shared
from orchestrator_core.conductor.recurrence.derived import derived, in_loops
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.soup import Soup, soups
from orchestrator_core.conductor.recurrence.unparalleled import in_a_loop
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site

FOUND = "a parallel scan"

PATIENCE = 16.0
"""How many times as long a loop may take where less memory is wanted. On a GPU each of its steps is
a few kernels: on an H200 a selective scan of 2,048 steps with gradients took 71 times less memory
and 129 times as long."""


def unparallel(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """All parallel scans of a graph."""
    sites, associative = [], dict[Hashable, bool]()
    for soup in list(soups(graph)):
        graph, site = _tried(graph, soup, goal, associative)
        sites.append(site)
    return graph, sites


def _tried(
    graph: Graph, soup: Soup, goal: Goal, associative: dict[Hashable, bool]
) -> tuple[Graph, Site]:
    nodes = _nodes(graph, soup)
    source = next((node.source for node in nodes if node.source), "")
    known = goal.decided(NAME, source, FOUND)
    if known is not None and not known.is_changed:
        return graph, known
    reason = _refusal(soup, goal, associative)
    if reason:
        return graph, Site(NAME, source, FOUND, AS_IT_IS, reason)
    try:
        alone = _alone(soup, nodes)
        before, after = price(alone), price(in_a_loop(alone, soup))
        done, chosen = _in_loops(graph, soup, nodes, source)
        why = _why(before, after)
        if known is None and not _is_better(before, after, goal):
            absorbed = _absorbed(done, graph, goal)
            if absorbed is None or not _is_better(price(graph), price(absorbed), goal):
                why = _why_not(before, after)
                return graph, Site(NAME, source, FOUND, AS_IT_IS, why, before, after)
            before, after = price(graph), price(absorbed)
            why = "a loop that does what is around it is cheaper"
    except Exception as error:
        return graph, Site.failed(NAME, source, FOUND, error)
    if set(nodes).isdisjoint(done.nodes):
        return done, Site(NAME, source, FOUND, chosen, why, before, after)
    reason = "something else reads values from within it"
    return graph, Site(NAME, source, FOUND, AS_IT_IS, reason, before, after)


def _in_loops(graph: Graph, soup: Soup, nodes: Sequence[Node], source: str) -> tuple[Graph, str]:
    """With its derivative, if that reads values from within it."""
    done = in_a_loop(graph, soup, source)
    found = None if set(nodes).isdisjoint(done.nodes) else derived(graph, soup)
    if found is None:
        return done, "a plain loop"
    return in_loops(graph, soup, found, source), "a plain loop, and its derivative another"


def _absorbed(done: Graph, graph: Graph, goal: Goal) -> Graph | None:
    """With its new loops having taken in what is done around them; None if nothing is."""
    old = {value for node in graph.nodes for value in node.outputs}
    sites = []
    for node in _new_loops(done, old):
        done, found = absorb(done, done.producer[node.outputs[0]], goal)
        sites += found
    done, found = absorb_shared(done, _new_loops(done, old), goal)
    return done if sites or found else None


def _new_loops(graph: Graph, old: Collection[Value]) -> list[Node]:
    return [n for n in graph.nodes if n.name == "scan" and n.outputs[0] not in old]


def _is_better(before: Price, after: Price, goal: Goal) -> bool:
    if goal.objective == "memory":
        is_bearable = goal.always or after.seconds <= PATIENCE * before.seconds
        return is_bearable and after.temp_bytes < before.temp_bytes
    return goal.always or after.seconds < before.seconds


def _why(before: Price, after: Price) -> str:
    if after.seconds < before.seconds:
        return "a step is cheaper than its share of the shuffles"
    return "takes less memory"


def _why_not(before: Price, after: Price) -> str:
    if after.temp_bytes < before.temp_bytes:
        longer = after.seconds / before.seconds
        return f"a plain loop would take less memory, but {longer:.3g} times as long"
    return "a plain loop is not cheaper on this device"


def _alone(soup: Soup, nodes: Sequence[Node]) -> Graph:
    """A graph of nothing but the parallel scan."""
    made = {output for node in nodes for output in node.outputs}
    read = (each for node in nodes for each in node.inputs if isinstance(each, Value))
    inputs = [*(value for value, _ in soup.arrays), *soup.constants, *read]
    given = (each for each in dict.fromkeys(inputs) if each not in made)
    return Graph(tuple(given), tuple(soup.results.values()), tuple(nodes), {})


def _refusal(soup: Soup, goal: Goal, associative: dict[Hashable, bool]) -> str:
    """`associative`: of operations by their looks, which may be equal in many layers."""
    if goal.is_strict:
        return "in another order its products are rounded otherwise"
    if not all(part in soup.products.pattern for part in soup.parts):
        return "it is too short to tell the operation"
    looks = soup.looks
    if looks not in associative:
        operation = soup.on_all(_random(soup), BITS)
        associative[looks] = is_associative(operation, soup.avals)
    if not associative[looks]:
        return "its operation is not associative"
    return ""


def _random(soup: Soup) -> Mapping[Value, Any]:
    random = np.random.default_rng(1)
    return {
        atom: jnp.asarray(random.normal(size=atom.shape), atom.dtype) for atom in soup.constants
    }


def _nodes(graph: Graph, soup: Soup) -> list[Node]:
    """All that is done for the results alone, back to the arrays that it is a scan of: others of
    the same length may come before it."""
    given = {soup.arrays[part][0] for part in soup.parts}
    wanted: set[Atom] = set(soup.results.values())
    found = []
    for node in reversed(graph.nodes):
        if any(o in wanted and o in soup.terms.at and o not in given for o in node.outputs):
            found.append(node)
            wanted.update(node.inputs)
    return found[::-1]
