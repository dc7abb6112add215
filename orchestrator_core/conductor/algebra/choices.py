"""Choices between numbers of the program, in loops over short rows.

Where a step chooses between numbers that the compiler knows, as ``jnp.where(x > h, 2.0, -2.0)``
does, XLA for CPUs makes no vectors of what is computed of them: the gradient of a gated scan of 8
elements took 1.4 times as long as where the numbers are arrays from outside. Those are what JAX
makes of them itself where a function is differentiated, as long as ``jnp.where`` stays a function
of its own; the conductor puts it in its place, and XLA then sees through the arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.algebra.judged import NAME
from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import written
from orchestrator_core.conductor.site import Site

SHORT = (2, 8)
"""Elements of a row. Of one it makes no difference; of more it was measured to be faster mostly,
but at times slower (EPYC, 2026)."""

FOUND = "a choice between numbers, in each step of a loop"
CHOSEN = "made before the loop"
WHY = "XLA makes vectors of what is computed of arrays, not of what is computed of numbers"

Numbers: TypeAlias = tuple[Any, ...]


def numbers_outside(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph whose loops take numbers that they choose between from outside, as arrays."""
    if this_device().platform != "cpu":
        return graph, []
    sites: list[Site] = []
    nodes: list[Node] = []
    for node in graph.nodes:
        known = goal.decided(NAME, node.source, FOUND)
        choices = _choices(graph, Scan.of(node)) if node.name == "scan" else {}
        if choices and (known is None or known.is_changed):
            nodes += _outside(node, choices)
            sites.append(Site(NAME, node.source, FOUND, CHOSEN, WHY))
        else:
            nodes.append(node)
    return (graph.with_nodes(nodes), sites) if sites else (graph, [])


def _choices(graph: Graph, scan: Scan) -> dict[Node, Numbers]:
    """By node of the body: what it chooses between, if that is numbers alone."""
    outside = dict(zip(scan.const_inputs, scan.consts, strict=True))
    found = {}
    for node in scan.body.nodes:
        if node.name == "select_n" and _is_short(node):
            cases = [_number(each, scan.body, outside, graph) for each in node.inputs[1:]]
            if None not in cases:
                found[node] = tuple(cases)
    return found


def _is_short(node: Node) -> bool:
    least, most = SHORT
    is_float = jnp.issubdtype(node.output.dtype, jnp.floating)
    return is_float and least <= node.output.size <= most


def _number(atom: Atom, body: Graph, outside: Mapping[Value, Atom], graph: Graph) -> Any:
    """The number that all elements are, by what the body or what is outside of the loop says."""
    if isinstance(atom, Value) and atom in outside:
        return everywhere(outside[atom], graph.producer)
    return everywhere(atom, body.producer)


def _outside(node: Node, choices: Mapping[Node, Numbers]) -> list[Node]:
    """What makes the arrays, and the loop that takes them. XLA must not see what they are, or it
    puts the numbers back into the loop."""
    scan = Scan.of(node)
    wanted = [(number, each.output) for each, numbers in choices.items() for number in numbers]

    def arrays() -> list[Any]:
        made = [jnp.full(like.shape, number, like.dtype) for number, like in wanted]
        return list(lax.optimization_barrier(made))  # type: ignore[no-untyped-call]

    before = written(arrays, [], node.source)
    inside = [Value(each.aval) for each in before.outputs]
    given = iter(inside)
    reading = {
        each: dataclasses.replace(each, inputs=(each.inputs[0], *(next(given) for _ in numbers)))
        for each, numbers in choices.items()
    }
    body = scan.body.with_nodes(reading.get(each, each) for each in scan.body.nodes)
    count = len(scan.consts)
    inputs = (*body.inputs[:count], *inside, *body.inputs[count:])
    after = dataclasses.replace(
        scan,
        consts=(*scan.consts, *before.outputs),
        body=dataclasses.replace(body, inputs=inputs),
    )
    return [*before.nodes, after.node()]
