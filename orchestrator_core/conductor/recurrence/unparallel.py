"""Parallel scans done as loops, where that is proven right and predicted to be cheaper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor.facts.monoid import is_associative
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.device import Device
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.parts import needed
from orchestrator_core.conductor.recurrence.soup import Soup, soups
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site

FOUND = "a parallel scan"


def unparallel(graph: Graph, device: Device, goal: Goal) -> tuple[Graph, list[Site]]:
    """All parallel scans of a graph."""
    sites = []
    for soup in list(soups(graph)):
        graph, site = _tried(graph, soup, device, goal)
        sites.append(site)
    return graph, sites


def _tried(graph: Graph, soup: Soup, device: Device, goal: Goal) -> tuple[Graph, Site]:
    nodes = _nodes(graph, soup)
    source = next((node.source for node in nodes if node.source), "")
    before, after = _before(nodes, device), _after(soup, device)
    reason = _refusal(soup, before, after, device, goal)
    if not reason:
        try:
            done = in_a_loop(graph, soup, source)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            if set(nodes).isdisjoint(done.nodes):
                why = "a step is cheaper than its share of the shuffles"
                return done, Site(NAME, source, FOUND, "a plain loop", why, before, after)
            reason = "something else reads values from within it, as its derivative does"
    return graph, Site(NAME, source, FOUND, AS_IT_IS, reason, before, after)


def _refusal(soup: Soup, before: Price, after: Price, device: Device, goal: Goal) -> str:
    if goal.is_strict:
        return "in another order its products are rounded otherwise"
    if not all(part in soup.products.pattern for part in soup.parts):
        return "it is too short to tell the operation"
    if not is_associative(soup.on_all(_random(soup)), soup.avals):
        return "its operation is not associative"
    if not goal.always and before.seconds <= after.seconds:
        return "a plain loop is not cheaper on this device"
    return ""


def _random(soup: Soup) -> Mapping[Value, Any]:
    random = np.random.default_rng(1)
    return {
        atom: jnp.asarray(random.normal(size=atom.shape), atom.dtype) for atom in soup.constants
    }


def _nodes(graph: Graph, soup: Soup) -> list[Node]:
    """All that is done for the results alone."""
    given = {value for value, _ in soup.arrays}
    wanted = needed(graph, soup.results.values())
    return [
        node
        for node in graph.nodes
        if any(o in wanted and o in soup.terms.at and o not in given for o in node.outputs)
    ]


def _before(nodes: Sequence[Node], device: Device) -> Price:
    whole = sum(node.output.nbytes for node in nodes)
    moved = sum(2 * device.traffic(node.output.nbytes, whole) for node in nodes)
    done = sum(device.launch + device.elementwise(node) for node in nodes)
    return Price(moved + done, whole)


def _after(soup: Soup, device: Device) -> Price:
    given = sum(soup.arrays[part][0].nbytes for part in soup.parts)
    made = sum(value.nbytes for value in soup.results.values())
    elements = sum(soup.arrays[part][0].size for part in soup.carried) * 4
    seconds = soup.length * device.step + elements / device.elements
    return Price(seconds + device.traffic(given + made, given + made), made)


def in_a_loop(graph: Graph, soup: Soup, source: str = "") -> Graph:
    """The graph in which a loop makes the results."""
    constants = soup.constants
    parts = soup.read
    carried = list(soup.carried)

    def function(*arrays: Any) -> list[Any]:
        atoms = dict(zip(constants, arrays[len(parts) :], strict=True))
        axes = [soup.arrays[part][1] for part in parts]
        slices = [jnp.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=False)]
        product = soup.on(carried, atoms)

        def step(carry: Any, now: Any) -> Any:
            is_first, xs = now
            right = {
                part: jnp.expand_dims(x, axis)
                for part, x, axis in zip(parts, xs, axes, strict=True)
            }
            made = product(dict(zip(carried, carry, strict=True)), right)
            new = [
                jnp.where(is_first, right[part], each)
                for part, each in zip(carried, made, strict=True)
            ]
            kept = [new[carried.index(part)] for part in soup.results]
            return new, [
                jnp.squeeze(each, soup.arrays[part][1])
                for each, part in zip(kept, soup.results, strict=True)
            ]

        start = [jnp.zeros(soup.aval(part).shape, soup.aval(part).dtype) for part in carried]
        is_first = jnp.arange(soup.length) == 0
        _, ys = jax.lax.scan(step, start, (is_first, slices))
        return [
            jnp.moveaxis(y, 0, soup.arrays[part][1])
            for y, part in zip(ys, soup.results, strict=True)
        ]

    inputs = [*(soup.arrays[part][0] for part in parts), *constants]
    return spliced(graph, function, inputs, list(soup.results.values()), source)
