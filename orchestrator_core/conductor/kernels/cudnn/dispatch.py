"""All plain attention of a graph that cuDNN takes, and is faster at."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.alike import looks
from orchestrator_core.conductor.ir.graph import Graph, pruned
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.attention import Attention, Made, attentions_of
from orchestrator_core.conductor.kernels.cudnn.programs import Program
from orchestrator_core.conductor.kernels.cudnn.suited import unsuited
from orchestrator_core.conductor.kernels.lowering import refusal
from orchestrator_core.conductor.kernels.name import NAME
from orchestrator_core.conductor.measured.timing import has_gpu
from orchestrator_core.conductor.measured.trial import trial
from orchestrator_core.conductor.site import AS_IT_IS, Site
from orchestrator_core.conductor.tile.settings import TileSettings

Outcome = tuple[str, tuple[float, float] | None]
"""Why it is left as it is, empty if it is not, and seconds before and after."""


def in_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All of a graph, where there is a GPU."""
    sites: list[Site] = []
    if not has_gpu() or goal.is_strict:
        return graph, sites
    known: dict[Hashable, Outcome] = {}
    try:
        all_found = list(attentions_of(graph))
    except Exception:  # other rewrites are wanted all the same
        return graph, sites
    for found in all_found:
        after, site = _tried(graph, found, goal, known)
        graph = after if site.is_changed else graph
        sites.append(site)
    return graph, sites


def _tried(
    graph: Graph, found: Attention, goal: Goal, known: dict[Hashable, Outcome]
) -> tuple[Graph, Site]:
    """Of many layers that look the same only one is compiled and timed."""
    source, what = found.made[0].node.source, words_of(found)
    decided = goal.decided(NAME, source, what)
    if decided is not None and not decided.is_changed:
        return graph, decided
    after, seconds = graph, None
    try:
        why = unsuited(graph, found)
        if not why:
            after = dispatched(graph, found)
            why = _needed_elsewhere(after, found)
        key = _looks_of(found)
        if not why and key not in known:
            is_timed = decided is None and goal.objective == "time"
            known[key] = _outcome(graph, after, found, is_timed=is_timed)
        if not why:
            why, seconds = known[key]
    except Exception as error:  # this site stays as it is
        return graph, Site.failed(NAME, source, what, error)
    if why:
        return graph, Site(NAME, source, what, AS_IT_IS, why, measured=seconds)
    return after, Site(NAME, source, what, "cuDNN", "it has a kernel for that", measured=seconds)


def words_of(found: Attention) -> str:
    """Such as: causal attention, with its gradient."""
    mask = found.softmax.mask
    if mask is None:
        made = "attention without a mask"
    elif mask.window is None:
        made = "causal attention"
    else:
        made = f"attention in a window of {mask.window}"
    return made if found.cotangent is None else f"{made}, with its gradient"


def _needed_elsewhere(after: Graph, found: Attention) -> str:
    """That the weights are made all the same; empty if they are not."""
    is_left = found.softmax.exponentials[0] in after.producer
    return "its weights are needed elsewhere" if is_left else ""


def _outcome(graph: Graph, after: Graph, found: Attention, *, is_timed: bool) -> Outcome:
    for program in programs_of(graph, found):
        avals = [value.aval for value in program.before.inputs]
        why = refusal(program.by_cudnn, avals, is_interpreted=False)
        if why:
            return why, None
    seconds = trial(graph, after) if is_timed else None
    if seconds is not None and seconds[0] < seconds[1]:
        was, now = seconds
        return f"measured: it would take {now:.2g} s, as it is {was:.2g} s", seconds
    return "", seconds


def _looks_of(found: Attention) -> Hashable:
    softmax = found.softmax
    keys = [softmax.q, softmax.k, found.v, *(each.key for each in found.made)]
    keys += [] if found.cotangent is None else [found.cotangent]
    values, specs = tuple(value for value, _ in keys), str([spec for _, spec in keys])
    made = str([(each.name, each.factor) for each in found.made])
    return looks(values, specs, made, str(softmax.mask), str(softmax.scale))


def dispatched(graph: Graph, found: Attention) -> Graph:
    """The graph with programs of cuDNN, which need not be there."""
    nodes = [_node(graph, program) for program in programs_of(graph, found)]
    made = {value for node in nodes for value in node.outputs}
    return graph.with_nodes(
        [*(node for node in graph.nodes if made.isdisjoint(node.outputs)), *nodes]
    )


def programs_of(graph: Graph, found: Attention) -> list[Program]:
    """Of the result, and of the gradients, as far as they are there."""
    parts = [
        tuple(each for each in found.made if (each.name == "out") is is_result)
        for is_result in (True, False)
    ]
    return [Program(found, made, _before(graph, found, made)) for made in parts if made]


def _before(graph: Graph, found: Attention, made: Sequence[Made]) -> Graph:
    """What is made, as it was written: of queries, keys, values, of the result's gradient, and of
    whatever else it reads."""
    given = [found.softmax.q[0], found.softmax.k[0], found.v[0]]
    if made[0].name != "out" and found.cotangent is not None:
        given.append(found.cotangent[0])
    nodes = [node for node in graph.nodes if set(given).isdisjoint(node.outputs)]
    outputs = tuple(each.node.output for each in made)
    part = pruned(dataclasses.replace(graph, outputs=outputs, nodes=tuple(nodes)))
    read = dict.fromkeys(chain(given, _read_of(part.nodes), outputs))
    made_here = {*part.producer, *part.constants} - set(given)
    inputs = [each for each in read if each not in made_here]
    return dataclasses.replace(part, inputs=tuple(inputs))


def _read_of(nodes: Iterable[Node]) -> list[Value]:
    return [each for node in nodes for each in node.inputs if isinstance(each, Value)]


def _node(graph: Graph, program: Program) -> Node:
    inputs = program.before.inputs
    outputs = tuple(each.node.output for each in program.made)
    source = program.made[0].node.source
    return Node("cudnn_attention", inputs, outputs, program, source=source)
