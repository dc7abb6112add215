"""Counters: whole numbers to which every step adds the same are known before the loop."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Literal, Value
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.splice import spliced


def counters(scan: Scan) -> dict[int, Any]:
    """The places of carries that are counters, and what each step adds. They wrap as before."""
    found = {}
    for place, given in enumerate(scan.carry_inputs):
        step = _added(scan, place, given)
        if step is not None:
            found[place] = step
    return found


def _added(scan: Scan, place: int, given: Value) -> Any:
    handed = scan.carry_outputs[place]
    node = scan.body.producer.get(handed) if isinstance(handed, Value) else None
    if node is None or node.name != "add" or given.shape:
        return None
    if not jnp.issubdtype(given.dtype, jnp.integer) or given not in node.inputs:
        return None
    others = [each for each in node.inputs if each is not given]
    return others[0].value if len(others) == 1 and isinstance(others[0], Literal) else None


def counted_before(graph: Graph, node: Node) -> Graph:
    """The graph in which the loop reads its counters as slices; the same graph if it has none."""
    scan = Scan.of(node)
    found = counters(scan)
    if not found or len(found) == len(scan.carry):
        return graph
    slices = [Value(_stacked(scan, scan.carry_inputs[k])) for k in found]
    kept = [k for k in range(len(scan.carry)) if k not in found]
    body = piece(
        scan.body,
        [
            *scan.const_inputs,
            *(scan.carry_inputs[k] for k in kept),
            *scan.x_inputs,
            *(scan.carry_inputs[k] for k in found),
        ],
        [*(scan.carry_outputs[k] for k in kept), *scan.y_outputs],
    )
    rest = dataclasses.replace(
        scan,
        carry=tuple(scan.carry[k] for k in kept),
        last=tuple(scan.last[k] for k in kept),
        xs=(*scan.xs, *slices),
        body=body,
    )

    def function(*starts: Any) -> list[Any]:
        steps = jnp.arange(scan.length)
        turns = steps[::-1] if scan.reverse else steps
        pairs = list(zip(starts, found.values(), strict=True))
        counts = [s + turns.astype(s.dtype) * jnp.asarray(k, s.dtype) for s, k in pairs]
        length = jnp.asarray(scan.length)
        last = [s + length.astype(s.dtype) * jnp.asarray(k, s.dtype) for s, k in pairs]
        return [*counts, *last]

    nodes = [rest.node() if each is node else each for each in graph.nodes]
    return spliced(
        dataclasses.replace(graph, nodes=tuple(nodes)),
        function,
        [scan.carry[k] for k in found],
        [*slices, *(scan.last[k] for k in found)],
        node.source,
    )


def _stacked(scan: Scan, value: Value) -> Any:
    return value.aval.update(shape=(scan.length, *value.shape), weak_type=False)
