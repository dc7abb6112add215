"""Values that run along an axis, however that is written."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from orchestrator_core.conductor.facts.lines.moves import Producer
from orchestrator_core.conductor.facts.lines.shift import shift_of
from orchestrator_core.conductor.facts.transfer.cumulative import CUMULATIVE
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.tile.cumulative.running import Running


@dataclass(frozen=True)
class Reading:
    """Attributes:
    running: what is done. given: to this. source: where it is written.
    """

    running: Running
    given: Atom
    source: str

    def without_own(self) -> Reading:
        return dataclasses.replace(
            self, running=dataclasses.replace(self.running, is_exclusive=True)
        )


def reading_of(node: Node | None, producer: Producer, block: int) -> Reading | None:
    """Of what makes a value; None if that does not run along anything."""
    if node is None or len(node.outputs) != 1:
        return None
    if node.name in CUMULATIVE:
        return _straight(node, producer, block)
    if node.name == "rev":
        return _turned(node, producer, block)
    return _of_all_before(node, producer, block)


def _straight(node: Node, producer: Producer, block: int) -> Reading:
    """Of what was moved on before, it is that of all before."""
    running = Running(node.name, node.params["axis"], node.params["reverse"], block)
    (given,) = node.inputs
    moved = shift_of(given, producer)
    found = Reading(running, given, node.source)
    if moved is None or not running.is_of_all_before(moved, given.dtype):
        return found
    return dataclasses.replace(found, given=moved.given).without_own()


def _turned(node: Node, producer: Producer, block: int) -> Reading | None:
    """Turned round, run along and turned back: run along from the other end."""
    inner = reading_of(_maker(node.inputs[0], producer), producer, block)
    first = _maker(inner.given, producer) if inner is not None else None
    if inner is None or first is None or first.name != "rev":
        return None
    axes = {tuple(each.params["dimensions"]) for each in (node, first)}
    if axes != {(inner.running.axis,)}:
        return None
    other = dataclasses.replace(inner.running, is_reverse=not inner.running.is_reverse)
    return dataclasses.replace(inner, running=other, given=first.inputs[0])


def _of_all_before(node: Node, producer: Producer, block: int) -> Reading | None:
    """Moved on by one."""
    moved = shift_of(node.output, producer)
    maker = _maker(moved.given, producer) if moved is not None else None
    inner = reading_of(maker, producer, block)
    if moved is None or inner is None or inner.running.is_exclusive:
        return None
    dtype = node.output.dtype
    return inner.without_own() if inner.running.is_of_all_before(moved, dtype) else None


def _maker(atom: Atom, producer: Producer) -> Node | None:
    return producer.get(atom) if isinstance(atom, Value) else None


def total_of(node: Node, producer: Producer, block: int) -> Reading | None:
    """Of the last element of what runs along an axis: its total."""
    if node.name != "slice":
        return None
    found = reading_of(_maker(node.inputs[0], producer), producer, block)
    if found is None or found.running.is_exclusive:
        return None
    axis, shape = found.running.axis, node.inputs[0].shape
    last = 0 if found.running.is_reverse else shape[axis] - 1
    begin = tuple(last if k == axis else 0 for k in range(len(shape)))
    end = tuple(last + 1 if k == axis else size for k, size in enumerate(shape))
    bounds = (tuple(node.params["start_indices"]), tuple(node.params["limit_indices"]))
    return found if bounds == (begin, end) else None
