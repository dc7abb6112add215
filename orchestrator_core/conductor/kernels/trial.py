"""What kernels gain on the GPU that is there: what changes is timed both ways.

What XLA makes of a region depends on what its caches hold and on how it fuses, and a kernel's time
on more than is known of it. Nothing may be slower, and where a GPU is at hand nobody need guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from orchestrator_core.conductor import devices
from orchestrator_core.conductor.cost import peak
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels import ended
from orchestrator_core.conductor.kernels.lowering import Candidate, has_gpu, seconds
from orchestrator_core.conductor.kernels.settings import are_interpreted
from orchestrator_core.conductor.tile.settings import TileSettings

MOST = 0.25
"""The part of the device's memory that a trial may take."""


def trial(before: Graph, after: Graph) -> tuple[float, float] | None:
    """Seconds of what differs between two graphs of the same function, as it is in both; None where
    nothing can be timed: there is no GPU, or it has not the memory."""
    if not has_gpu() or are_interpreted():
        return None
    after, _ = ended.in_kernels(after, Goal(), TileSettings())  # as it will be in the end
    was, now = difference(before, after)
    room = devices.memory_of(jax.devices()[0])
    if room is not None and peak(was) > MOST * room:
        return None
    try:
        before_s, after_s = seconds(*(_candidate(each) for each in (was, now)))
    except Exception:  # whatever it is: a trial is no reason to fail
        return None
    return before_s, after_s


def _candidate(graph: Graph) -> Candidate:
    return _function(graph), [value.aval for value in graph.inputs]


def _function(graph: Graph) -> Callable[..., list[Any]]:
    return lambda *arrays: evaluate(graph, arrays)


def difference(before: Graph, after: Graph) -> tuple[Graph, Graph]:
    """The nodes that are in one of two graphs only, as functions that make the same values."""
    old, new = set(before.nodes), set(after.nodes)
    gone = [node for node in before.nodes if node not in new]
    come = [node for node in after.nodes if node not in old]
    wanted = dict.fromkeys([*_needed(before, gone), *_needed(after, come)])
    made = {value for node in gone for value in node.outputs}
    outputs = [value for value in wanted if value in made]
    return _part(before, gone, outputs), _part(after, come, outputs)


def _needed(graph: Graph, nodes: Sequence[Node]) -> list[Value]:
    """What others read of what some nodes make."""
    inside, returned = set(nodes), set(graph.outputs)
    return [
        value
        for node in nodes
        for value in node.outputs
        if value in returned or any(n not in inside for n in graph.consumers[value])
    ]


def _part(graph: Graph, nodes: Sequence[Node], outputs: Sequence[Value]) -> Graph:
    made = {value for node in nodes for value in node.outputs}
    read = [each for node in nodes for each in node.inputs if isinstance(each, Value)]
    read += [each for each in outputs if each not in made]
    constants = {v: array for v, array in graph.constants.items() if v in read}
    inputs = dict.fromkeys(each for each in read if each not in made and each not in constants)
    return Graph(tuple(inputs), tuple(outputs), tuple(nodes), constants)
