"""Is what a repair leaves out really impossible?"""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.repair import Replan


def wrongly_left_out(instance: Instance, result: Replan, lost: set[str]) -> list[str]:
    """Where neither memory nor stock is limited, a task is left out only if no worker that is there
    may run it, or if it needs one that is left out."""
    graph, cluster = instance.graph, instance.cluster
    is_scarce = any(np.isfinite(worker.memory) for worker in cluster.workers)
    is_scarce |= any(demand.consumes for demand in graph.demands)
    if is_scarce:
        return []
    alive = [name not in lost for name in cluster.names]
    blocked, found = set(result.blocked), []
    for name in sorted(blocked):
        task = graph.index[name]
        modes = slice(graph.mode_ptr[task], graph.mode_ptr[task + 1])
        needs = {graph.names[a] for a in graph.producer[graph.consumer == task]}
        if np.isfinite(instance.seconds[modes][:, alive]).any() and not needs & blocked:
            found.append(f"{name!r} is left out, though it could run")
    return found
