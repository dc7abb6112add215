"""leased: each task on the worker that ends it first, of those that are rented then; on one that is
not only where nobody who is can run it (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled
from orchestrator_core.plan.engine.expand import Problem


@compiled
def leased(
    p: Problem, order: Ints, seconds: Floats, since: Floats, until: Floats
) -> tuple[Ints, float]:
    """(n,) the worker of each task, and about when the last of them ends.

    An estimate for the decoder, which is to place each task on that worker: a task takes one
    thread, behind what the thread has done before, and transfers do not wait for each other.

    Args:
        order: (n,) producers before consumers.
        seconds: (n, w), infinity where a task cannot run.
        since, until: (w,) the lease of each worker, in seconds; from infinity on: none.
    """
    n, w = seconds.shape
    most = 1
    for b in range(w):
        most = max(most, p.worker_threads[b])
    free = np.full((w, most), np.inf)
    for b in range(w):
        free[b, : p.worker_threads[b]] = 0.0
    worker, end, last = np.zeros(n, dtype=np.int64), np.zeros(n), 0.0
    for t in order:
        best, rented, thread = -1, False, 0
        for b in range(w):
            if seconds[t, b] == np.inf:
                continue
            first = 0
            for i in range(p.worker_threads[b]):
                if free[b, i] < free[b, first]:
                    first = i
            begin = max(p.release[t], free[b, first])
            for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                q = p.in_task[k]
                a, there = worker[q], end[q]
                if a != b:
                    each = p.per_byte[a, b] + p.encode[a, b]
                    there += p.latency[a, b] + p.in_bytes[k] * each
                begin = max(begin, there)
            if since[b] < np.inf:
                begin = max(begin, since[b])
            ends = begin + seconds[t, b]
            is_rented = ends <= until[b] and since[b] < np.inf
            if best < 0 or is_rented > rented or (is_rented == rented and ends < end[t]):
                best, rented, thread, end[t] = b, is_rented, first, ends
        worker[t] = best
        free[best, thread] = end[t]
        last = max(last, end[t])
    return worker, last
