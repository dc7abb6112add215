"""The largest elements of which a slice is read.

Where a slice is taken of what `top_k` makes, XLA's CPU compiler takes it of the sort that it was,
and knows no `top_k` any more: whole rows are sorted, which takes 40 times as long (4096 floats of
32 bits, k = 32). Only the first few, if all who read it take as many, are a `top_k` still. Seen in
0.10.2; in 0.12 of slices of rows alone.
"""

from __future__ import annotations

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node

SLICES = frozenset({"dynamic_slice", "slice", "split"})


def is_sliced(node: Node, graph: Graph) -> bool:
    """Is it a `top_k` of which all is sorted?"""
    if node.name != "top_k":
        return False
    counts = {_first(reader) for value in node.outputs for reader in graph.consumers.get(value, ())}
    counts |= {None for value in node.outputs if value in graph.outputs}
    return () in counts or len(counts) > 1


def _first(reader: Node) -> tuple[int, ...] | None:
    """How many of the first are read; None if all are, nothing if it is another slice."""
    if reader.name not in SLICES:
        return None
    if reader.name != "slice" or any(reader.params["start_indices"]) or reader.params["strides"]:
        return ()
    return tuple(reader.params["limit_indices"])
