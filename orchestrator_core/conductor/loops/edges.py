"""Who reads what a scan has stacked: other scans, index for index, or somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.loops.glue import of_slice


@dataclass(frozen=True, slots=True)
class Edge:
    """From a slice that one scan makes to the slice of the same index that another reads.

    Attributes:
        made: the slice, in the body of the scan that makes it. stack: all slices, outside.
        reader: the scan that reads it. read: the slice, in the body of the reader.
        glue: what happens to a slice on the way; the first reads `made`, and the last makes what
            the reader calls `read`.
    """

    made: Value
    stack: Value
    reader: Node
    read: Value
    glue: tuple[Node, ...] = ()


def edges(graph: Graph, scan: Scan) -> dict[Value, list[Edge]]:
    """By stack: all who read it, if all of them are scans that read it index for index."""
    found = {}
    for made, stack in zip(scan.y_outputs, scan.ys, strict=True):
        if isinstance(made, Value):
            reached = list(_reached(graph, Edge(made, stack, _NOBODY, made), stack, scan.length))
            if reached and None not in reached:
                found[stack] = [edge for edge in reached if edge is not None]
    return found


def _reached(graph: Graph, path: Edge, stack: Value, length: int) -> Iterator[Edge | None]:
    """From a stack on, along `path`; None stands for a reader that needs the whole stack."""
    if stack in graph.outputs:
        yield None
    for node in graph.consumers.get(stack, ()):
        if node.name == "scan":
            yield from _read_by_scan(node, path, stack, length)
        else:
            yield from _through(graph, node, path, stack, length)


def _read_by_scan(node: Node, path: Edge, stack: Value, length: int) -> Iterator[Edge | None]:
    scan = Scan.of(node)
    if scan.length != length or stack in (*scan.consts, *scan.carry):
        yield None
        return
    for outside, inside in zip(scan.xs, scan.x_inputs, strict=True):
        if outside is stack:
            yield Edge(path.made, path.stack, node, inside, path.glue)


def _through(
    graph: Graph, node: Node, path: Edge, stack: Value, length: int
) -> Iterator[Edge | None]:
    slice_ = path.glue[-1].output if path.glue else path.made
    step = of_slice(node, slice_)
    if step is None:
        yield None
        return
    further = Edge(path.made, path.stack, node, path.read, (*path.glue, step))
    yield from _reached(graph, further, node.output, length)


_NOBODY = Node("nobody", (), (), lambda arrays: ())
