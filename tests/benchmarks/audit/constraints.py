"""Which constraints an instance has."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from tests.benchmarks.audit.odd import FAR


def constraints_of(instance: Instance) -> list[str]:
    """Their names, in the order of the problem's definition."""
    graph, cluster = instance.graph, instance.cluster
    longest = float(instance.seconds[np.isfinite(instance.seconds)].max(initial=0.0))
    is_there = {
        "threads": graph.mode_threads.max(initial=1) > 1,
        "encoding": cluster.encode_seconds_per_byte.max(initial=0.0) > 0 and graph.n_edges > 0,
        "transfers": cluster.seconds_per_byte.max(initial=0.0) > 0 and graph.n_edges > 0,
        "parts of outputs": (graph.nbytes < graph.output_bytes[graph.producer]).any(),
        "out of reach": cluster.latency.max(initial=0.0) > FAR / 10 * longest > 0,
        "memory": any(np.isfinite(worker.memory) for worker in cluster.workers),
        "resources": any(demand.resources for demand in graph.demands),
        "stock": any(demand.consumes for demand in graph.demands),
        "modes": np.diff(graph.mode_ptr).max(initial=1) > 1,
        "counts": graph.count.max(initial=1) > 1,
        "counts and releases": ((graph.count > 1) & (graph.release > 0)).any(),
        "multiplicity": graph.multiplicity.max(initial=1) > 1,
        "release": graph.release.max(initial=0.0) > 0,
        "deadlines": np.isfinite(graph.deadline).any(),
        "due dates": np.isfinite(graph.due).any(),
        "checkpoints": any(graph.checkpoint_sets),
        "eligibility": not np.isfinite(instance.seconds).all(),
        "no duration": (instance.seconds == 0).any(),
        "no output": (graph.output_bytes == 0).any(),
        "equal times": len(np.unique(instance.seconds)) == 1,
    }
    return [name for name, is_one in is_there.items() if is_one]
