"""A graph with the output sizes that a cost model believes in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator_core.costs.model import CostModel
from orchestrator_core.graph.task_graph import TaskGraph


def with_sizes(graph: TaskGraph, costs: CostModel) -> TaskGraph:
    """`graph` with `costs.output_bytes` where known; edges that carried all of it still do."""
    believed = costs.output_bytes(graph)
    output_bytes = np.where(np.isnan(believed), graph.output_bytes, believed)
    whole = graph.nbytes >= graph.output_bytes[graph.producer]
    carried = output_bytes[graph.producer]
    nbytes = np.where(whole, carried, np.minimum(graph.nbytes, carried))
    for column in (output_bytes, nbytes):
        column.flags.writeable = False
    return replace(graph, output_bytes=output_bytes, nbytes=nbytes)
