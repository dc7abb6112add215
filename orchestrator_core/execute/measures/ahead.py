"""Ahead: is it worth sending outputs to where they will be needed, before they are?

A worker learns of a task when all its inputs are done, and only then fetches them. Sending an
output when its producer ends hides that time. It moves no byte that would not move anyway, but
keeps copies for longer, so it is given up where they would crowd a worker's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from orchestrator_core.execute.simulate.inversions import ready_at
from orchestrator_core.execute.simulate.outcome import Outcome
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.graph.task_graph import Floats

WORTH_IT = 0.01
"""Part of the mean makespan that sending ahead must save."""

MEMORY_SHARE = 0.1
"""Part of a worker's memory that copies may take which are not needed yet."""


def pays_to_send_ahead(rehearsal: Rehearsal, tables: Sequence[Floats]) -> bool:
    """Does sending ahead save enough, on average over runs with these durations?

    Args:
        tables: (modes, workers) seconds each.
    """
    # Places do not change with the durations, nor does it then what travels.
    if not rehearsal.run(tables[0]).transfers:
        return False
    early = [rehearsal.run(table, prefetch=True) for table in tables]
    without = np.mean([rehearsal.makespan(table) for table in tables])
    if np.mean([loop.makespan for loop in early]) > without * (1 - WORTH_IT):
        return False
    memory = np.array([worker.memory for worker in rehearsal.instance.cluster.workers])
    return all((np.array(bytes_ahead(loop)) <= MEMORY_SHARE * memory).all() for loop in early)


def bytes_ahead(loop: Outcome) -> list[float]:
    """(w,) the most bytes on each worker, at one moment, that were sent before they were needed."""
    steps: list[list[tuple[float, float]]] = [[] for _ in range(len(loop.instance.cluster))]
    for (unit, worker), (start, _, _) in loop.transfers.items():
        needed = min(
            ready_at(loop, consumer)
            for consumer in loop.units.consumers[unit]
            if loop.worker[consumer] == worker
        )
        if needed > start:
            size = loop.size[unit]
            steps[worker] += [(start, size), (needed, -size)]
    return [max(accumulate(size for _, size in sorted(line)), default=0.0) for line in steps]
