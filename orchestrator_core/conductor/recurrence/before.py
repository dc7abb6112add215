"""Fission, the first half: what no carry reaches is done for all steps before the loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.cost import Device
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan, stacked
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.batchable import is_batchable
from orchestrator_core.conductor.recurrence.batches import at_once
from orchestrator_core.conductor.recurrence.cut import IN, OUT, Cut
from orchestrator_core.conductor.recurrence.parts import piece, reached, sources, trimmed
from orchestrator_core.conductor.recurrence.prices import alone, batched, crossing, traffic
from orchestrator_core.conductor.recurrence.small_products import are_large_before
from orchestrator_core.conductor.recurrence.splice import spliced


class Before:
    """What of a scan's body is done before it, at the least cost.

    Attributes:
        nodes: of the body, that are done before. gain: seconds saved in each step.
    """

    def __init__(self, scan: Scan, device: Device) -> None:
        self.scan, self.device = scan, device
        self.carried = reached(scan.body, scan.carry_inputs)
        self.varying = reached(scan.body, scan.x_inputs)
        self.free = [n for n in scan.body.nodes if not self.carried.issuperset(n.outputs)]
        self._is_free = set(self.free)
        outside = self._cut().outside(self.free) if self.free else set()
        self.nodes: list[Node] = [node for node in self.free if node in outside]
        self.moved = {value for node in self.nodes for value in node.outputs}
        self.gain = self._gain()

    @property
    def values(self) -> list[Value]:
        """What the rest of the body reads of it."""
        outside = set(self.nodes)
        read: dict[Value, None] = {}
        for node in self.scan.body.nodes:
            if node not in outside:
                read.update(dict.fromkeys(i for i in node.inputs if i in self.moved))
        read.update(dict.fromkeys(i for i in self.scan.carry_outputs if i in self.moved))
        return list(read)

    @property
    def returned(self) -> list[int]:
        """Which of the scan's results are that alone, stacked."""
        return [k for k, y in enumerate(self.scan.y_outputs) if y in self.moved]

    def _cut(self) -> Cut:
        cut = Cut()
        readers = self.scan.body.consumers
        needs = {i for i in self.scan.carry_outputs if isinstance(i, Value)}
        for node in self.free:
            cut.cost(OUT, node, self._inside(node))
            cut.cost(node, IN, self._outside(node))
            if not is_batchable(node):
                cut.never(node, IN)
            for value in node.outputs:
                for reader in readers[value]:
                    cut.never(value, self._place(reader))
                    if reader in self._is_free:
                        cut.never(reader, node)
                if value in needs:
                    cut.never(value, IN)
                cut.cost(node, value, self._crossing(value))
        for x in self.scan.x_inputs:
            cut.cost(OUT, x, self._read(x))
            for reader in readers[x]:
                cut.never(x, self._place(reader))
        return cut

    def _place(self, reader: Node) -> Node | str:
        return reader if reader in self._is_free else IN

    def _inside(self, node: Node) -> float:
        """Seconds for each step, where it is. What is the same in each, XLA takes out itself."""
        is_same = self.varying.isdisjoint(i for i in node.inputs if isinstance(i, Value))
        return self._outside(node) if is_same else alone(node, self.device)

    def _outside(self, node: Node) -> float:
        """Seconds for each step, if it is done for all steps at once."""
        moving = [each in self.varying for each in node.inputs]
        return batched(node, moving, self.scan.length, self.device)

    def _crossing(self, value: Value) -> float:
        if value not in self.varying:
            return traffic(value.nbytes, value.nbytes, self.device)
        return crossing(value, self.scan.body, self.scan.length, self.device)

    def _read(self, value: Value) -> float:
        return traffic(value.nbytes, value.nbytes * self.scan.length, self.device)

    @property
    def temp_bytes(self) -> int:
        """Bytes of arrays that the loop alone would not have needed."""
        more = sum(value.nbytes for value in self.values)
        largest = max((each.nbytes for each in self.moved), default=0)
        return self.scan.length * (more + largest)

    @property
    def is_large(self) -> bool:
        """Are its products worth it on a CPU?"""
        return are_large_before(self.nodes)

    def _gain(self) -> float:
        """Against doing all inside; reading less inputs is not counted."""
        saved = sum(self._inside(node) - self._outside(node) for node in self.nodes)
        return saved - sum(map(self._crossing, self.values))


def done_before(graph: Graph, node: Node, before: Before) -> Graph:
    """The graph in which that part is done before the scan."""
    scan, values, returned = before.scan, before.values, before.returned
    ends = (scan.y_outputs[k] for k in returned)
    last = [each for each in ends if isinstance(each, Value)]
    wanted = list(dict.fromkeys([*values, *last]))
    read = sources(scan.body, wanted, [*scan.const_inputs, *scan.x_inputs])
    part = piece(scan.body, read, wanted)
    moving = [each in before.varying for each in wanted]
    new = {
        each: stacked(each, scan.length) if moves else Value(each.aval)
        for each, moves in zip(wanted, moving, strict=True)
    }

    def function(*arrays: Any) -> list[Any]:
        made = at_once(part, arrays, [each in before.varying for each in read], moving)
        of = dict(zip(wanted, made, strict=True))
        stacks = [
            of[y] if y in before.varying else jnp.broadcast_to(of[y], (scan.length, *y.shape))
            for y in last
        ]
        return [*made, *stacks]

    nodes = [_rest(before, new) if each is node else each for each in graph.nodes]
    outer = dict(zip(scan.body.inputs, node.inputs, strict=True))
    return spliced(
        dataclasses.replace(graph, nodes=tuple(nodes)),
        function,
        [outer[each] for each in read],
        [*new.values(), *(scan.ys[k] for k in returned)],
        node.source,
    )


def _rest(before: Before, new: Mapping[Value, Value]) -> Node:
    """The scan that reads what was done before."""
    scan = before.scan
    consts = [each for each in before.values if each not in before.varying]
    slices = [each for each in before.values if each in before.varying]
    keep = [k for k in range(len(scan.ys)) if k not in before.returned]
    body = piece(
        scan.body,
        [*scan.const_inputs, *consts, *scan.carry_inputs, *scan.x_inputs, *slices],
        [*scan.carry_outputs, *(scan.y_outputs[k] for k in keep)],
    )
    after = dataclasses.replace(
        scan,
        consts=(*scan.consts, *(new[each] for each in consts)),
        xs=(*scan.xs, *(new[each] for each in slices)),
        ys=tuple(scan.ys[k] for k in keep),
        body=body,
    )
    return trimmed(after).node()
