"""Rewrites for tests of what stands around them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import rewriting
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.site import AS_IT_IS, Price, Site

Rewrite = Callable[[Graph, Goal], tuple[Graph, list[Site]]]


def install(patch: pytest.MonkeyPatch, **rewrites: Rewrite) -> None:
    """From now on these are all the rewrites there are."""
    module = types.ModuleType("toy_rewrites")
    patch.setitem(sys.modules, "toy_rewrites", module)
    for name, rewrite in rewrites.items():
        setattr(module, name, rewrite)
    patch.setattr(rewriting, "REWRITES", {name: f"toy_rewrites:{name}" for name in rewrites})


@jax.custom_jvp
def _exponential(x: jax.Array) -> jax.Array:
    return jnp.exp(x)


@_exponential.defjvp
def _never(*_: object) -> None:
    raise AssertionError("what a rewrite has put here is never differentiated")


def exponentials(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """Puts a program that has no derivative in the place of each `exp`."""
    nodes, sites = [], []
    for node in graph.nodes:
        if node.name == "exp":
            told = goal.decided("tiling", node.source, "an exponential")
            chosen = "another exponential" if told is None else told.chosen
            prices = (Price(2e-3, 8_000_000), Price(1e-3, 1_000_000))
            site = Site("tiling", node.source, "an exponential", chosen, "it is a toy", *prices)
            sites.append(site)
            if chosen != AS_IT_IS:
                node = Node(
                    "toy", node.inputs, node.outputs, lambda arrays: [_exponential(*arrays)]
                )
        nodes.append(node)
    return graph.with_nodes(nodes), sites


def refusing(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """Finds a product and leaves it."""
    products = [node for node in graph.nodes if node.name == "dot_general"]
    told = "nothing would be gained"
    return graph, [
        Site("recurrence", node.source, "a product", AS_IT_IS, told) for node in products
    ]
