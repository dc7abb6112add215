"""Which carries of a loop are filled slice by slice, in places that are known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.filled import Filled, Part
from orchestrator_core.conductor.recurrence.indices import Known, Steps
from orchestrator_core.conductor.recurrence.run import Run
from orchestrator_core.conductor.recurrence.slots import Slot, read_by, written_by


def filled_carries(scan: Scan, known: Known) -> list[Filled]:
    """Carries of the loop that it need not carry; `known`: what is known around it."""
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
