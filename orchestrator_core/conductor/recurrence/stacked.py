"""Arrays that a loop fills slice by slice: what each step writes in a place of its own is stacked.

    out = out.at[t].set(y)                 all of `out` is carried
    total = total + zeros.at[t].set(y)     all of it is added in each step, as the derivative of
                                           reading x[t] does it: n steps cost n * n slices

A loop that stacks `y` carries neither, and what is left of its carry may be affine. The places
have to be known: t counts, and goes through each place once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.recurrence.filled import Filled
from orchestrator_core.conductor.recurrence.filling import filled_carries
from orchestrator_core.conductor.recurrence.indices import Known
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.site import Site


def stack_filled(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph in which no loop carries what it fills."""
    sites = []
    for node in graph.nodes:
        if node.name != "scan" or node.effects or not Scan.of(node).carry:
            continue
        found = filled_carries(Scan.of(node), Known(graph))
        what = f"{len(found)} carried arrays that are filled slice by slice"
        known = goal.decided(NAME, node.source, what)
        if found and (known is None or known.is_changed):
            graph = _stacked(graph, graph.producer[node.outputs[0]], found)
            why = "no step hands on or adds up what it does not change"
            sites.append(Site(NAME, node.source, what, "stacked by the loop", why))
    return graph, sites


def _stacked(graph: Graph, node: Node, found: Sequence[Filled]) -> Graph:
    """With the carries gone, slices of what they were as inputs, and what is written stacked."""
    scan = Scan.of(node)
    gone = {each.place for each in found}
    keep = [k for k in range(len(scan.carry)) if k not in gone]
    reads = [reader for each in found for reader in each.reads]
    wanted = [each for each in found if _is_read(graph, scan.last[each.place])]
    parts = [part.slice for each in wanted for part in each.parts]
    xs = [_of_steps(reader.output, scan.length) for reader in reads]
    ys = [_of_steps(part, scan.length) for part in parts]
    carried = [scan.carry_inputs[k] for k in keep]
    inputs = [*scan.const_inputs, *carried, *scan.x_inputs, *(each.output for each in reads)]
    outputs = [*(scan.carry_outputs[k] for k in keep), *scan.y_outputs, *parts]
    rest = dataclasses.replace(
        scan,
        carry=tuple(scan.carry[k] for k in keep),
        last=tuple(scan.last[k] for k in keep),
        xs=(*scan.xs, *xs),
        ys=(*scan.ys, *ys),
        body=piece(scan.body, inputs, outputs),
    )
    nodes = [rest.node() if each is node else each for each in graph.nodes]
    last = [scan.last[each.place] for each in wanted]
    return spliced(
        dataclasses.replace(graph, nodes=tuple(nodes)),
        _Outside(found, wanted),
        [*(scan.carry[each.place] for each in found), *ys],
        [*xs, *last],
        node.source,
    )


class _Outside:
    """What is done before and after the loop: of the carries as they were and of all stacked
    slices, those that steps read, and the carries after the last step that are wanted."""

    def __init__(self, found: Sequence[Filled], wanted: Sequence[Filled]) -> None:
        self._found, self._wanted = found, wanted

    def __call__(self, *arrays: Any) -> list[Any]:
        starts = dict(zip((each.place for each in self._found), arrays, strict=False))
        slices = iter(arrays[len(self._found) :])
        read = []
        for each in self._found:
            rank = starts[each.place].ndim
            kept = [len(reader.output.shape) == rank for reader in each.reads]
            read += [each.parts[0].run.cut(starts[each.place], is_kept) for is_kept in kept]
        return [*read, *(self._last(each, starts[each.place], slices) for each in self._wanted)]

    def _last(self, filled: Filled, array: Any, slices: Iterator[Any]) -> Any:
        for part in filled.parts:
            array = part.run.put(array, next(slices), part.is_added)
        return array


def _is_read(graph: Graph, value: Value) -> bool:
    return bool(graph.consumers.get(value)) or value in graph.outputs


def _of_steps(atom: Atom, length: int) -> Value:
    return Value(atom.aval.update(shape=(length, *atom.shape), weak_type=False))
