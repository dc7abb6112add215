"""The order in which Dask's workers take what they were given."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled


@compiled
def depth_first(order: Ints, in_ptr: Ints, in_unit: Ints, out_ptr: Ints) -> Ints:
    """(u,) priority of each unit, smallest first: what a result needs comes right before it.

    Args:
        order: (u,) producers before consumers. in_ptr, in_unit, out_ptr: see `Job`.
    """
    rank = np.full(len(order), -1, dtype=np.int64)
    stack = np.empty(len(order) + len(in_unit), dtype=np.int64)
    free = 0
    for sink in order:
        if out_ptr[sink] < out_ptr[sink + 1]:
            continue
        stack[0], high = sink, 1
        while high:
            unit, below = stack[high - 1], high
            if rank[unit] < 0:
                # The first input comes out first.
                for k in range(in_ptr[unit + 1] - 1, in_ptr[unit] - 1, -1):
                    if rank[in_unit[k]] < 0:
                        stack[high] = in_unit[k]
                        high += 1
            if high == below:
                high -= 1
                if rank[unit] < 0:
                    rank[unit] = free
                    free += 1
    return rank
