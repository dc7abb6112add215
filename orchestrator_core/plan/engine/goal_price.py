"""What a placement costs, compiled: leases of workers, and busy threads (see `goal.py`)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem


@inner
def prices(
    price: Floats, p: Problem, start: Floats, end: Floats, worker: Ints, mode: Ints
) -> tuple[float, float]:
    """(price of the leases, price of the busy threads)."""
    n, w = len(end), len(p.worker_threads)
    first, last = np.full(w, np.inf), np.zeros(w)
    busy = 0.0
    for t in range(n):
        b, m = worker[t], mode[t]
        first[b], last[b] = min(first[b], start[t]), max(last[b], end[t])
        busy += price[b] * p.threads[m] / p.worker_threads[b] * p.seconds[m, b]
    since, until = first.copy(), last.copy()
    wanted, near = np.empty(w), np.empty(w, dtype=np.int64)
    for t in range(n):
        a, count = worker[t], 0
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            b = worker[c]
            if b == a:
                continue
            latest = start[c] - p.latency[a, b] - p.out_bytes[k] * p.per_byte[a, b]
            i = 0
            while i < count and near[i] != b:
                i += 1
            if i == count:
                near[i], wanted[i] = b, latest
                count += 1
            else:
                wanted[i] = min(wanted[i], latest)
        for i in range(count):
            b = near[i]
            encode = p.output_bytes[t] * p.encode[a, b]
            busy += price[a] / p.worker_threads[a] * encode
            way = p.latency[a, b] + p.output_bytes[t] * p.per_byte[a, b]
            sent = sent_at(price, a, b, end[t] + encode, wanted[i], way, first[b], last[a])
            until[a] = max(until[a], sent + way)
            since[b], until[b] = min(since[b], sent), max(until[b], sent + way)
    rented = 0.0
    for b in range(w):
        if until[b] > since[b]:
            rented += price[b] * (until[b] - since[b])
    return rented, busy


@inner
def sent_at(
    price: Floats,
    a: int,
    b: int,
    soonest: float,
    latest: float,
    way: float,
    first: float,
    last: float,
) -> float:
    """When an output had best leave worker a for worker b: one moment between the soonest and the
    latest, such that the leases (b from `first`, a up to `last`) become the least longer."""
    if latest <= soonest:
        return soonest
    # Leaving from `free` on costs the receiver nothing, up to `kept` it costs the sender nothing.
    free, kept = first, last - way
    if free <= kept:
        return max(soonest, min(latest, free))
    later = price[a] < price[b]
    return max(soonest, min(latest, free if later else kept))
