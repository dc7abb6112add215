"""Fission, the second half: what no carry needs is done for all steps after the loop."""

from __future__ import annotations

import dataclasses
from typing import Any

from orchestrator_core.conductor.cost import Device
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.needed import needed
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan, stacked
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.batchable import is_batchable
from orchestrator_core.conductor.recurrence.batches import at_once
from orchestrator_core.conductor.recurrence.cut import IN, OUT, Cut
from orchestrator_core.conductor.recurrence.parts import piece, reached, sources, trimmed
from orchestrator_core.conductor.recurrence.prices import alone, batched, crossing
from orchestrator_core.conductor.recurrence.small_products import are_large_after
from orchestrator_core.conductor.recurrence.splice import spliced


class After:
    """What of a scan's body is done after it, at the least cost.

    Attributes:
        nodes: of the body, that are done after. gain: seconds saved in each step.
    """

    def __init__(self, scan: Scan, device: Device) -> None:
        self.scan, self.device = scan, device
        self.carried = reached(scan.body, scan.carry_inputs)
        self.moving = reached(scan.body, [*scan.carry_inputs, *scan.x_inputs])
        needs = needed(scan.body, scan.carry_outputs)
        self.last = [
            node
            for node in scan.body.nodes
            if needs.isdisjoint(node.outputs) and not self.carried.isdisjoint(node.outputs)
        ]
        self._is_last = set(self.last)
        outside = self._cut().outside(self.last) if self.last else set()
        self.nodes: list[Node] = [node for node in self.last if node in outside]
        self.moved = {value for node in self.nodes for value in node.outputs}
        self.gain = self._gain()

    @property
    def kept(self) -> list[Value]:
        """What the loop is to return for it: values that the carries reach."""
        read = (each for node in self.nodes for each in node.inputs)
        return list(dict.fromkeys(i for i in read if i in self.carried and i not in self.moved))

    @property
    def returned(self) -> list[int]:
        """Which of the scan's results come of it."""
        return [k for k, y in enumerate(self.scan.y_outputs) if y in self.moved]

    def _cut(self) -> Cut:
        cut = Cut()
        producer, returned = self.scan.body.producer, set(self.scan.y_outputs)
        for node in self.last:
            cut.cost(OUT, node, alone(node, self.device))
            cut.cost(node, IN, self._outside(node))
            if not is_batchable(node):
                cut.never(node, IN)
            for value in dict.fromkeys(i for i in node.inputs if i in self.carried):
                maker = producer.get(value)
                place = maker if maker in self._is_last else IN
                cut.never(node, value)
                cut.cost(value, place, 0.0 if value in returned else self._crossing(value))
            for reader in (r for o in node.outputs for r in self.scan.body.consumers[o]):
                cut.never(node, reader)
        return cut

    def _outside(self, node: Node) -> float:
        moving = [each in self.moving for each in node.inputs]
        return batched(node, moving, self.scan.length, self.device)

    def _crossing(self, value: Value) -> float:
        return crossing(value, self.scan.body, self.scan.length, self.device)

    @property
    def temp_bytes(self) -> int:
        """Bytes of arrays that the loop alone would not have needed."""
        more = sum(value.nbytes for value in self.kept)
        largest = max((each.nbytes for each in self.moved), default=0)
        return self.scan.length * (more + largest)

    @property
    def is_large(self) -> bool:
        """Are its products worth it on a CPU?"""
        return are_large_after(self.nodes)

    def _gain(self) -> float:
        saved = sum(alone(node, self.device) - self._outside(node) for node in self.nodes)
        return saved - sum(self._crossing(v) for v in self.kept if v not in self.scan.y_outputs)


def done_after(graph: Graph, node: Node, after: After) -> Graph:
    """The graph in which that part is done after the scan."""
    scan, returned = after.scan, after.returned
    wanted = [scan.y_outputs[k] for k in returned]
    keep = [k for k in range(len(scan.ys)) if k not in returned]
    known = {scan.y_outputs[k]: scan.ys[k] for k in keep}
    more = [value for value in after.kept if value not in known]
    known |= {value: stacked(value, scan.length) for value in more}
    outer = dict(zip(scan.body.inputs, node.inputs, strict=True))
    outer |= {value: known[value] for value in after.kept}
    given = [*scan.const_inputs, *scan.x_inputs, *after.kept]
    read = sources(scan.body, wanted, given)
    part = piece(scan.body, read, wanted)
    moving = {*scan.x_inputs, *after.kept}

    def function(*arrays: Any) -> list[Any]:
        return at_once(part, arrays, [each in moving for each in read], [True] * len(wanted))

    rest = dataclasses.replace(
        scan,
        ys=(*(scan.ys[k] for k in keep), *(known[value] for value in more)),
        body=piece(
            scan.body,
            scan.body.inputs,
            [*scan.carry_outputs, *(scan.y_outputs[k] for k in keep), *more],
        ),
    )
    nodes = [trimmed(rest).node() if each is node else each for each in graph.nodes]
    return spliced(
        dataclasses.replace(graph, nodes=tuple(nodes)),
        function,
        [outer[each] for each in read],
        [scan.ys[k] for k in returned],
        node.source,
    )
