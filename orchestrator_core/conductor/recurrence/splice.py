"""Splicing: pieces of a graph replaced by what a JAX function does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Atom, Value


def spliced(
    graph: Graph,
    function: Callable[..., Sequence[Any]],
    inputs: Sequence[Atom],
    outputs: Sequence[Value],
    source: str = "",
) -> Graph:
    """The graph in which a function of `inputs` makes what were `outputs`.

    The function is traced, so what it does is as open to later rewrites as anything else. Nodes
    that are not needed any more are gone.

    Raises:
        ValueError: if the function makes anything of another shape or type.
    """
    made = read(_jax.trace(lambda *arrays: list(function(*arrays)), [i.aval for i in inputs]))
    _check(made.outputs, outputs)
    place: dict[Value, Atom] = dict(zip(made.inputs, inputs, strict=True))
    new = [_reading(place, dataclasses.replace(node, source=source)) for node in made.nodes]
    results = [_in(place, each) for each in made.outputs]
    after: dict[Value, Atom] = dict(zip(outputs, results, strict=True))
    old = [_reading(after, node) for node in graph.nodes]
    return dataclasses.replace(
        graph,
        outputs=tuple(_in(after, each) for each in graph.outputs),
        constants={**graph.constants, **made.constants},
    ).with_nodes([*old, *new])


def _in(place: Mapping[Value, Atom], atom: Atom) -> Atom:
    return place.get(atom, atom) if isinstance(atom, Value) else atom


def _reading(place: Mapping[Value, Atom], node: Node) -> Node:
    if not any(each in place for each in node.inputs if isinstance(each, Value)):
        return node
    return dataclasses.replace(node, inputs=tuple(_in(place, each) for each in node.inputs))


def _check(made: Sequence[Atom], wanted: Sequence[Value]) -> None:
    for one, other in zip(made, wanted, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            raise ValueError(f"{one} in the place of {other}")
