"""Values that run along an axis, however that is written."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from orchestrator_core.conductor.facts.lines.shift import shift_of
from orchestrator_core.conductor.facts.transfer.cumulative import CUMULATIVE
from orchestrator_core.conductor.ir.graph import Graph
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


class Readings:
    """Of all values of a graph. Each is found once, from those that it is made of: an array may be
    moved on thousands of times, one after another.

    Args:
        block: elements of a block.
    """

    def __init__(self, graph: Graph, block: int) -> None:
        self._producer, self._block = graph.producer, block
        self._known: dict[Atom, Reading] = {}
        for node in graph.nodes:
            found = self._found(node) if len(node.outputs) == 1 else None
            if found is not None:
                self._known[node.output] = found

    def of(self, atom: Atom) -> Reading | None:
        """None if it does not run along anything."""
        return self._known.get(atom)

    def of_total(self, node: Node) -> Reading | None:
        """Of the last element of what runs along an axis: its total."""
        found = self.of(node.inputs[0]) if node.name == "slice" else None
        if found is None or found.running.is_exclusive:
            return None
        axis, shape = found.running.axis, node.inputs[0].shape
        last = 0 if found.running.is_reverse else shape[axis] - 1
        begin = tuple(last if k == axis else 0 for k in range(len(shape)))
        end = tuple(last + 1 if k == axis else size for k, size in enumerate(shape))
        bounds = (tuple(node.params["start_indices"]), tuple(node.params["limit_indices"]))
        return found if bounds == (begin, end) else None

    def _found(self, node: Node) -> Reading | None:
        if node.name in CUMULATIVE:
            return self._straight(node)
        return self._turned(node) if node.name == "rev" else self._of_all_before(node)

    def _straight(self, node: Node) -> Reading:
        """Of what was moved on before, it is that of all before."""
        running = Running(node.name, node.params["axis"], node.params["reverse"], self._block)
        (given,) = node.inputs
        moved = shift_of(given, self._producer)
        found = Reading(running, given, node.source)
        if moved is None or not running.is_of_all_before(moved, given.dtype):
            return found
        return dataclasses.replace(found, given=moved.given).without_own()

    def _turned(self, node: Node) -> Reading | None:
        """Turned round, run along and turned back: run along from the other end."""
        inner = self.of(node.inputs[0])
        first = self._maker(inner.given) if inner is not None else None
        if inner is None or first is None or first.name != "rev":
            return None
        axes = {tuple(each.params["dimensions"]) for each in (node, first)}
        if axes != {(inner.running.axis,)}:
            return None
        other = dataclasses.replace(inner.running, is_reverse=not inner.running.is_reverse)
        return dataclasses.replace(inner, running=other, given=first.inputs[0])

    def _of_all_before(self, node: Node) -> Reading | None:
        """Moved on by one."""
        moved = shift_of(node.output, self._producer)
        inner = None if moved is None else self.of(moved.given)
        if moved is None or inner is None or inner.running.is_exclusive:
            return None
        dtype = node.output.dtype
        return inner.without_own() if inner.running.is_of_all_before(moved, dtype) else None

    def _maker(self, atom: Atom) -> Node | None:
        return self._producer.get(atom) if isinstance(atom, Value) else None
