"""Made: the bytes that the tasks of a run add to what is held."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats


def made_bytes(instance: Instance) -> Floats:
    """(n,) bytes of each output; none for what reads nothing and takes no time, which was there
    before the run and will be there after it."""
    graph = instance.graph
    seconds = np.where(np.isfinite(instance.seconds), instance.seconds, 0.0)
    longest = np.zeros(len(graph))
    np.maximum.at(longest, graph.mode_task, seconds.max(axis=1, initial=0.0))
    reads = np.bincount(graph.consumer, minlength=len(graph)) > 0
    return np.where(reads | (longest > 0), graph.output_bytes, 0.0)
