"""Arrays that a loop fills slice by slice: what each step writes in a place of its own is stacked.

    out = out.at[t].set(y)                 all of `out` is carried
    total = total + zeros.at[t].set(y)     all of it is added in each step, as the derivative of
                                           reading x[t] does it: n steps cost n * n slices

A loop that stacks `y` carries neither, and what is left of its carry may be affine. The places
have to be known: t counts, and goes through each place once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.indices import Known, Steps
from orchestrator_core.conductor.recurrence.name import NAME
from orchestrator_core.conductor.recurrence.parts import piece
from orchestrator_core.conductor.recurrence.slots import Slot, read_by, written_by
from orchestrator_core.conductor.recurrence.splice import spliced
from orchestrator_core.conductor.site import Site


@dataclass(frozen=True)
class Run:
    """Places along an axis, one for each step: from `start` on, the last one first if turned."""

    axis: int
    start: int
    is_turned: bool
    length: int

    def cut(self, array: Any, kept: bool) -> Any:
        """The slices of an array in the order of steps; `kept`: each with the axis, of size 1."""
        part = lax.slice_in_dim(array, self.start, self.start + self.length, axis=self.axis)
        steps = jnp.moveaxis(self._in_order(part, self.axis), self.axis, 0)
        return jnp.expand_dims(steps, self.axis + 1) if kept else steps

    def put(self, array: Any, slices: Any, is_added: bool) -> Any:
        """The array with slices, which are in the order of steps, in their places."""
        if slices.ndim > array.ndim:
            slices = jnp.squeeze(slices, self.axis + 1)
        whole = self._in_order(jnp.moveaxis(slices, 0, self.axis), self.axis)
        if is_added:
            part = lax.slice_in_dim(array, self.start, self.start + self.length, axis=self.axis)
            whole = part + whole
        if whole.shape == array.shape:
            return whole
        return lax.dynamic_update_slice_in_dim(array, whole, self.start, self.axis)

    def _in_order(self, array: Any, axis: int) -> Any:
        return jnp.flip(array, axis) if self.is_turned else array


@dataclass(frozen=True)
class Part:
    """What each step writes, in which places, or adds to what is there."""

    run: Run
    slice: Atom
    is_added: bool


@dataclass(frozen=True)
class Filled:
    """A carry that is filled.

    Attributes:
        place: among the carries. parts: what each step writes, in order. reads: nodes of the body
            that read the slice, in the places of the parts, before anything is written to it.
    """

    place: int
    parts: tuple[Part, ...]
    reads: tuple[Node, ...] = ()


def fill(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph in which no loop carries what it fills."""
    sites = []
    for node in graph.nodes:
        if node.name != "scan" or node.effects or not Scan.of(node).carry:
            continue
        found = _found(Scan.of(node), Known(graph))
        what = f"{len(found)} carried arrays that are filled slice by slice"
        known = goal.decided(NAME, node.source, what)
        if found and (known is None or known.is_changed):
            graph = _stacked(graph, graph.producer[node.outputs[0]], found)
            why = "no step hands on or adds up what it does not change"
            sites.append(Site(NAME, node.source, what, "stacked by the loop", why))
    return graph, sites


def _found(scan: Scan, known: Known) -> list[Filled]:
    steps = Steps(scan, known)
    each = (_filled(scan, steps, known, place) for place in range(len(scan.carry)))
    return [filled for filled in each if filled is not None]


def _filled(scan: Scan, steps: Steps, known: Known, place: int) -> Filled | None:
    """A carry that is handed on with slices written or added, and otherwise only read there."""
    body, handed = scan.body, scan.carry_outputs[place]
    given = value = scan.carry_inputs[place]
    reads = [node for node in body.consumers[given] if read_by(node) is not None]
    parts: list[Part] = []
    while value is not handed:
        writer = _only(node for node in body.consumers[value] if node not in reads)
        part = None if writer is None else _part(writer, value, scan, steps, known)
        if writer is None or part is None or value in body.outputs:
            return None
        parts, value = [*parts, part], writer.output
    if body.consumers[value] or body.outputs.count(value) != 1 or not parts:
        return None
    is_alone = all(part.is_added for part in parts) and not reads
    runs = {part.run for part in parts} | {_run(read_by(node), steps) for node in reads}
    is_right = is_alone or (len(runs) == 1 and all(part.is_added for part in parts[1:]))
    return Filled(place, tuple(parts), tuple(reads)) if is_right else None


def _only(nodes: Iterable[Node]) -> Node | None:
    found = list(nodes)
    return found[0] if len(found) == 1 else None


def _part(writer: Node, value: Value, scan: Scan, steps: Steps, known: Known) -> Part | None:
    """What a node writes or adds to a value; None if it does anything else with it."""
    if writer.inputs.count(value) != 1:
        return None
    if writer.name in ("add", "add_any"):
        other = writer.inputs[1 - writer.inputs.index(value)]
        maker = scan.body.producer.get(other) if isinstance(other, Value) else None
        slot = None if maker is None else written_by(maker)
        fits = slot is not None and _is_zero(slot.array, scan, known.graph)
    else:
        slot = written_by(writer)
        fits = slot is not None and slot.array is value
    run = _run(slot, steps)
    if slot is None or slot.slice is None or run is None or not fits:
        return None
    return Part(run, slot.slice, slot.is_added or writer.name in ("add", "add_any"))


def _is_zero(atom: Atom, scan: Scan, outside: Graph) -> bool:
    """Is it an array of zeros, made in the body or before the loop?"""
    graph = scan.body
    if atom in scan.const_inputs:
        atom, graph = scan.consts[scan.const_inputs.index(atom)], outside
    node = graph.producer.get(atom) if isinstance(atom, Value) else None
    if node is not None and node.name == "broadcast_in_dim":
        atom = node.inputs[0]
    return isinstance(atom, Literal) and not np.any(np.asarray(atom.value))


def _run(slot: Slot | None, steps: Steps) -> Run | None:
    """The places of a slot in all steps, if they follow each other and none is outside."""
    places = None if slot is None else steps.array(slot.index)
    if slot is None or places is None or steps.scan.length < 2:
        return None
    places = places.reshape(steps.scan.length, -1)[:, slot.at].astype(np.int64)
    by = int(places[1] - places[0])
    inside = places.min() >= 0 and places.max() < slot.array.shape[slot.axis]
    if abs(by) != 1 or not inside or (np.diff(places) != by).any():
        return None
    return Run(slot.axis, int(places.min()), by < 0, steps.scan.length)


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
