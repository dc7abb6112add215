"""What becomes of the sums of passes, row by row, is done in strips of rows.

So ends the backward of a contrastive loss: with gradients by the rows of embeddings that were
divided by their norms. Each needs sums along its row, and XLA keeps some ten arrays of that size at
once for it, more than tiles leave of all pairs. In strips nothing is kept but what is read and
returned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator_core.conductor.cost import this_device, work_of
from orchestrator_core.conductor.facts.axes import ROLES, Spec
from orchestrator_core.conductor.facts.dataflow import Dataflow
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.accumulators import Accumulator, Reduced, Stored
from orchestrator_core.conductor.tile.careful import careful
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.price import tile_graph
from orchestrator_core.conductor.tile.recipe import Instead
from orchestrator_core.conductor.tile.rows import Rows, rows_after
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings
from orchestrator_core.conductor.tile.sinking import sunk

LEAST_BYTES = 2**18
"""Of the largest array of rows: smaller ones stay in a cache anyway."""

STRIP_BYTES = 2**18
"""Of the largest value of a strip."""


def in_strips(graph: Graph, settings: TileSettings) -> Graph:
    """The graph with what follows its passes in strips, where that keeps less."""
    if this_device().platform != "cpu":
        return graph
    sums = [node for node in graph.nodes if node.name == "tiled_sum"]
    specs: dict[Value, Spec] = {node.outputs[0]: node.params["spec"] for node in sums}
    flow = Dataflow(graph)
    for length in dict.fromkeys(map(_length, specs.values())):
        seeds = {value: spec for value, spec in specs.items() if _length(spec) == length > 1}
        while found := rows_after(flow, seeds.items()):
            for rows in found:
                if settings.always or _is_worth(rows):
                    graph = _replaced(graph, flow, rows, length)
                for seed in rows.seeds:
                    del seeds[seed]
            flow = flow if flow.graph is graph else Dataflow(graph)
    return graph


def _length(spec: Spec) -> int:
    """Rows of what was summed along one role; 1 of anything else."""
    found = [size for axis in spec for size, role in axis if role is not None]
    return found[0] if len(found) == 1 else 1


def _is_worth(rows: Rows) -> bool:
    """Do rows of several large sums meet, and are added up along themselves? XLA does element by
    element what is no more than that, and one array after another if they never meet."""
    if len(rows.seeds) < 2 or max(seed.nbytes for seed in rows.seeds) < LEAST_BYTES:
        return False
    return any(node.name.startswith("reduce_") for node in rows.specs)


def _replaced(graph: Graph, flow: Dataflow, rows: Rows, length: int) -> Graph:
    kept = dict(_accumulators(rows))
    specs = {node.output: spec for node, spec in rows.specs.items()}
    lengths = dict(zip(ROLES, (length, 1), strict=True))
    instead = Instead({}, frozenset(specs) | sunk(flow))
    one = Pass(flow, lengths, (), tuple(kept.values()), {}, ROLES[0], instead)
    if not kept or not rows.made.isdisjoint(one.recipe.values):
        return graph
    widest = max(value.nbytes for value in (*rows.seeds, *specs)) // length
    size = min(length, 2 ** max(int(math.log2(STRIP_BYTES / max(widest, 1))), 3))
    node = _node(Runner(one, dict(zip(ROLES, (size, 1), strict=True)), False), tuple(kept))
    return graph.with_nodes([*(each for each in graph.nodes if not rows.does(each)), node])


def _accumulators(rows: Rows) -> Iterator[tuple[Value, Accumulator]]:
    """By what they make."""
    for node in rows.stored:
        yield node.output, Stored((node.output, rows.specs[node]))
    for node, boundary in rows.sums.items():
        yield node.output, Reduced(boundary)


def _node(runner: Runner, outputs: tuple[Value, ...]) -> Node:
    run = careful(runner)

    def apply(values: Sequence[Any]) -> list[Any]:
        return [
            array.astype(value.dtype).reshape(value.shape)
            for array, value in zip(run(values), outputs, strict=True)
        ]

    strips = math.ceil(runner.one.length[ROLES[0]] / runner.size[ROLES[0]])
    params = {"work": work_of(tile_graph(runner), "cpu").times(strips)}
    return Node("tiled_rows", runner.one.recipe.values, outputs, apply, params)
