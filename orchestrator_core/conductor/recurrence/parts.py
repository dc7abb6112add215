"""Parts of a loop's body: what the carries reach, and what they need."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Value


def reached(graph: Graph, seeds: Iterable[Value]) -> set[Value]:
    """The seeds, and all that is computed of them."""
    found = set(seeds)
    for node in graph.nodes:
        if any(each in found for each in node.inputs if isinstance(each, Value)):
            found.update(node.outputs)
    return found


def piece(graph: Graph, inputs: Sequence[Value], outputs: Sequence[Atom]) -> Graph:
    """The part of the graph that makes `outputs` of `inputs`, which may be anywhere inside; also
    only some of what a node makes."""
    given = set(inputs)
    wanted = {each for each in outputs if isinstance(each, Value)} - given
    nodes = []
    for node in reversed(graph.nodes):
        if node.effects or not wanted.isdisjoint(node.outputs):
            nodes.append(node)
            wanted.update(i for i in node.inputs if isinstance(i, Value) and i not in given)
    constants = {value: array for value, array in graph.constants.items() if value in wanted}
    return Graph(tuple(inputs), tuple(outputs), tuple(reversed(nodes)), constants)


def sources(graph: Graph, outputs: Iterable[Atom], given: Iterable[Value]) -> list[Value]:
    """Those of `given` that the outputs are computed of without passing another of them."""
    stop, found = set(given), {each for each in outputs if isinstance(each, Value)}
    for node in reversed(graph.nodes):
        if any(each in found and each not in stop for each in node.outputs):
            found.update(each for each in node.inputs if isinstance(each, Value))
    return [each for each in dict.fromkeys(given) if each in found]


def trimmed(scan: Scan) -> Scan:
    """Without constants and slices that no step reads."""
    used = {each for node in scan.body.nodes for each in node.inputs} | set(scan.body.outputs)
    consts = [k for k, each in enumerate(scan.const_inputs) if each in used]
    xs = [k for k, each in enumerate(scan.x_inputs) if each in used]
    inputs = (
        *(scan.const_inputs[k] for k in consts),
        *scan.carry_inputs,
        *(scan.x_inputs[k] for k in xs),
    )
    return dataclasses.replace(
        scan,
        consts=tuple(scan.consts[k] for k in consts),
        xs=tuple(scan.xs[k] for k in xs),
        body=dataclasses.replace(scan.body, inputs=inputs),
    )
