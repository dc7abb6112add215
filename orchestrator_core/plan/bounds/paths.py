"""Heads and tails: how early a task can start on a worker, and how much must follow it (stage 3).

Both are lower bounds, indexed by worker, that count transfers: either producer and consumer share a
worker, or the output travels. Compiled.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner


@inner
def _local_end(release: Floats, seconds: Floats, work: Floats, order: Ints, count: int) -> float:
    """When a worker can have run the first `count` of `order`, whatever the order on it.

    Args:
        work: seconds times threads over the worker's threads, so that it may be added up.
    """
    chosen = order[:count]
    by_release = chosen[np.argsort(-release[chosen])]
    total, end = 0.0, 0.0
    for i in by_release:
        total += work[i]
        end = max(end, release[i] + total, release[i] + seconds[i])
    return end


@compiled
def heads(
    order: Ints,
    ptr: Ints,
    before: Ints,
    nbytes: Floats,
    encoded: Floats,
    release: Floats,
    seconds: Floats,
    work: Floats,
    latency: Floats,
    per_byte: Floats,
    encode: Floats,
) -> Floats:
    """(n, w) seconds before which no task can start on a worker; O(edges x workers^2).

    For each task and worker, the producers are sorted by when their output can arrive from
    elsewhere. If the k that would arrive last are made on the worker itself, the task waits for
    all of them to run there, and for the (k+1)-th to arrive: the best k is a valid bound, since
    with a start s exactly those must be local that cannot arrive by s. On the reversed graph with
    transposed links this gives tails.

    Args:
        order: (n,) producers before consumers. ptr, before, nbytes: edges into each task.
        encoded: (n,) output bytes. release: (n,). seconds, work: (n, w); infinity where a task may
            not run; see `_local_end`. latency, per_byte, encode: (w, w) from producer to consumer.
    """
    n, w = seconds.shape
    head = np.zeros((n, w))
    for t in order:
        first, past = ptr[t], ptr[t + 1]
        many = past - first
        here, remote = np.empty(many), np.empty(many)
        length, load = np.empty(many), np.empty(many)
        for b in range(w):
            head[t, b] = release[t]
            for k in range(many):
                q = before[first + k]
                here[k], length[k], load[k] = head[q, b], seconds[q, b], work[q, b]
                away = np.inf
                for a in range(w):
                    if a != b and seconds[q, a] < np.inf:
                        way = latency[a, b] + nbytes[first + k] * per_byte[a, b]
                        made = head[q, a] + seconds[q, a] + encoded[q] * encode[a, b]
                        away = min(away, made + way)
                remote[k] = away
            if many == 0:
                continue
            latest = np.argsort(-remote)
            low, high = 0, many
            # The local end grows and the next arrival falls with k: the best k is where they cross.
            while low < high:
                k = (low + high) // 2
                if _local_end(here, length, load, latest, k) >= remote[latest[k]]:
                    high = k
                else:
                    low = k + 1
            best = _local_end(here, length, load, latest, low)
            if low > 0:
                best = min(best, remote[latest[low - 1]])
            head[t, b] = max(head[t, b], best)
    return head
