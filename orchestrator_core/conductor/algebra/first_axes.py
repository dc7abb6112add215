"""Sums over first axes, ``x.mean(0)`` of a batch, as products with ones.

A CPU's cores get in each other's way where such a sum has many results (`cost.meeting`); a product
has the same sums, each times one. Only their order changes.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.algebra.judged import site
from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.cost.fusion_facts import LOOPS
from orchestrator_core.conductor.cost.meeting import as_product_s, may_be_product, meeting_s
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.ir.written import in_place_of, written
from orchestrator_core.conductor.site import Price, Site

FOUND = "a sum over first axes, whose cores get in each other's way"


def summed_by_products(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with such sums as products where that is faster."""
    sites: list[Site] = []
    device = this_device()
    for output in [node.outputs[0] for node in graph.nodes if may_be_product(node)]:
        # What was rewritten before has changed what it reads.
        node = graph.producer[output]
        seconds = meeting_s(node, device)
        array = node.inputs[0] if seconds else None
        if goal.objective == "memory" or not isinstance(array, Value):
            continue
        is_stored = _is_stored(graph, array)
        product_s = as_product_s(node, device, is_stored=is_stored)
        now = Price(product_s, 0 if is_stored else array.nbytes)
        decided = site(node, FOUND, "a product with ones", (Price(seconds, 0), now), goal)
        sites.append(decided)
        if decided.is_changed:
            new = written(_Product(node), [array], node.source)
            graph = in_place_of(graph, [node], new, [node.output])
    return graph, list(dict.fromkeys(sites))


def _is_stored(graph: Graph, array: Value) -> bool:
    """Does XLA have it in memory, whoever sums it?"""
    maker = graph.producer.get(array)
    is_shared = len(graph.consumers.get(array, ())) > 1 or array in graph.outputs
    return maker is None or is_shared or maker.name not in LOOPS


class _Product:
    """What stands for a sum."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __call__(self, array: Any) -> list[Any]:
        axes = self._node.params["axes"]
        shape = [size for axis, size in enumerate(array.shape) if axis not in axes]
        results = max(1, self._node.output.size)
        rows = array.reshape(-1, results)
        ones = jnp.ones(rows.shape[0], array.dtype)
        made = lax.dot(ones, rows, precision=lax.Precision.HIGHEST)
        return [made.reshape(shape)]
