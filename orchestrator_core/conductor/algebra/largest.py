"""The largest elements, found before a slice of them is taken; see `cost.sliced`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax

from orchestrator_core.conductor.algebra.judged import site
from orchestrator_core.conductor.cost import seconds_of_work, this_device, work_of_node
from orchestrator_core.conductor.cost.rules.reductions import BY_SORTING
from orchestrator_core.conductor.cost.sliced import is_sliced
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.ir.written import in_place_of, written
from orchestrator_core.conductor.site import Price, Site

FOUND = "a slice of the largest elements, for which XLA sorts all"


def largest_first(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with a barrier after each `top_k` that would become a sort."""
    sites: list[Site] = []
    if this_device().platform != "cpu":
        return graph, sites
    for node in [each for each in graph.nodes if _is_worse(each, graph)]:
        decided = site(node, FOUND, "the largest alone are found first", _prices(node), goal)
        sites.append(decided)
        (array,) = node.inputs
        if decided.is_changed and isinstance(array, Value):
            new = written(_held(node), [array], node.source)
            graph = in_place_of(graph, [node], new, node.outputs)
    return graph, list(dict.fromkeys(sites))


def _is_worse(node: Node, graph: Graph) -> bool:
    """Is it sorted though it need not be, as all but floats of 32 bits always are?"""
    return is_sliced(node, graph) and node.inputs[0].dtype == np.float32


def _held(node: Node) -> Callable[[Any], Any]:
    barrier: Any = lax.optimization_barrier
    return lambda array: barrier(list(node.apply([array])))


def _prices(node: Node) -> tuple[Price, Price]:
    return _price(dataclasses.replace(node, name=BY_SORTING)), _price(node)


def _price(node: Node) -> Price:
    work = work_of_node(node, "cpu")
    return Price(seconds_of_work(work, this_device()), work.temp_bytes)
