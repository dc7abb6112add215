"""A graph of outputs and pullback in two parts: what can run before the cotangents are known, and
what cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.joint.late import just_in_time
from orchestrator_core.conductor.joint.residuals import residuals

Flags = tuple[bool, ...]


class Inseparable(Exception):
    """An output cannot be had before the cotangents are known: a rewrite has mixed the two."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Attributes:
    forward: of the inputs: the outputs, then what is kept.
    backward: of the inputs, what was kept, and the cotangents: the cotangents of the inputs.
    kept: how many values are kept.
    """

    forward: Graph
    backward: Graph
    kept: int


def cut(graph: Graph, inputs: int, outputs: int, objective: str) -> Cut:
    """The two parts of a graph.

    Args:
        inputs: how many of the graph's inputs are those of the function; cotangents follow.
        outputs: how many of its outputs are those of the function.

    Raises:
        Inseparable: if one of these outputs depends on a cotangent.
    """
    primals, cotangents = graph.inputs[:inputs], graph.inputs[inputs:]
    made, pulled = graph.outputs[:outputs], graph.outputs[outputs:]
    late = depending(graph, cotangents)
    if not late.isdisjoint(_values(made)):
        raise Inseparable("an output is computed together with the pullback")
    behind = {node: None for node in graph.nodes if not late.isdisjoint(node.outputs)}
    read = [each for node in behind for each in _values(node.inputs) if each not in late]
    found = residuals(graph, [*read, *(v for v in _values(pulled) if v not in late)], objective)
    held = (*primals, *found.kept)
    backward = (*found.again, *behind)
    if objective == "memory":
        backward = tuple(just_in_time(found.again, tuple(behind), held, late))
    before = tuple(node for node in graph.nodes if node not in behind)
    return Cut(
        _part(graph, primals, (*made, *found.kept), before),
        _part(graph, (*held, *cotangents), pulled, backward),
        len(found.kept),
    )


def _part(
    graph: Graph, inputs: tuple[Value, ...], outputs: tuple[Atom, ...], nodes: tuple[Node, ...]
) -> Graph:
    return pruned(dataclasses.replace(graph, inputs=inputs, outputs=outputs, nodes=nodes))


def depending(graph: Graph, sources: Collection[Value]) -> set[Value]:
    """The values that are computed from any of these; themselves too."""
    found = set(sources)
    for node in graph.nodes:
        if not found.isdisjoint(_values(node.inputs)):
            found.update(node.outputs)
    return found


def reached(graph: Graph, given: Sequence[bool]) -> Flags:
    """Which outputs are computed from any of these inputs."""
    pairs = zip(graph.inputs, given, strict=True)
    found = depending(graph, [each for each, is_given in pairs if is_given])
    return tuple(isinstance(each, Value) and each in found for each in graph.outputs)


def _values(atoms: Collection[Atom]) -> list[Value]:
    return [each for each in atoms if isinstance(each, Value)]
