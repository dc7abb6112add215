"""Which tasks to merge: pairs that no path leaves and enters again, so that no cycle arises.

Two safe rules, each for many pairs at once. Along an edge (u, v) where v has no other producer or u
no other consumer: a merged pair is then entered at its head or left at its tail only, so that a
cycle through merged pairs would have been one through the tasks. Among tasks of the same level
(longest number of edges from a first task): every edge still leads to a higher level. See
J. Herrmann, M. Y. Özkaya, B. Uçar, K. Kaya, Ü. Çatalyürek: Multilevel algorithms for acyclic
partitioning of directed acyclic graphs. SIAM J. Sci. Comput. 41(4), 2019.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner

LOSS = 0.03
"""How much longer, as a part, two tasks may take on their best common worker than on their own."""


@inner
def fit(seconds: Floats, work: Floats, most: float, u: int, v: int) -> bool:
    """Are two tasks together no more than `most`, and about as fast somewhere as apart?"""
    apart = work[u] + work[v]
    if apart > most:
        return False
    together = np.inf
    for b in range(seconds.shape[1]):
        together = min(together, seconds[u, b] + seconds[v, b])
    return bool(together <= (1.0 + LOSS) * apart)


@compiled
def match_edges(
    by_bytes: Ints,
    producer: Ints,
    consumer: Ints,
    seconds: Floats,
    work: Floats,
    most: float,
    limit: int,
    mate: Ints,
) -> int:
    """Pair the ends of edges, the heaviest edges first; returns the number of pairs.

    Args:
        by_bytes: (e,) edges in the order in which they are tried.
        producer, consumer: (e,), each pair of tasks at most once.
        seconds: (n, w) of each task on each worker. work: (n,) its least; a pair has at most
            `most` together. limit: of pairs.
        mate: (n,) -1 for free tasks; pairs are written into it.
    """
    n = len(mate)
    outs, ins = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for e in range(len(producer)):
        outs[producer[e]] += 1
        ins[consumer[e]] += 1
    pairs = 0
    for e in by_bytes:
        if pairs >= limit:
            break
        u, v = producer[e], consumer[e]
        alone = outs[u] == 1 or ins[v] == 1
        if alone and mate[u] < 0 and mate[v] < 0 and fit(seconds, work, most, u, v):
            mate[u], mate[v] = v, u
            pairs += 1
    return pairs


@compiled
def match_level(
    level: Ints,
    in_ptr: Ints,
    in_task: Ints,
    out_ptr: Ints,
    out_task: Ints,
    seconds: Floats,
    work: Floats,
    most: float,
    limit: int,
    mate: Ints,
) -> int:
    """Pair siblings of one level, neighbours in the lists of a producer or a consumer; returns the
    number of pairs."""
    pairs = 0
    for t in range(len(level)):
        for side in range(2):
            ptr, near = (out_ptr, out_task) if side == 0 else (in_ptr, in_task)
            waiting = -1
            for k in range(ptr[t], ptr[t + 1]):
                v = near[k]
                if pairs >= limit or mate[v] >= 0 or work[v] > 0.5 * most:
                    continue
                pair = waiting >= 0 and waiting != v and level[waiting] == level[v]
                if pair and fit(seconds, work, most, waiting, v):
                    mate[waiting], mate[v] = v, waiting
                    pairs += 1
                    waiting = -1
                else:
                    waiting = v
    return pairs


@compiled
def levels(topological: Ints, in_ptr: Ints, in_task: Ints, level: Ints) -> None:
    """Write the longest number of edges from a first task to each task into `level`."""
    for t in topological:
        for k in range(in_ptr[t], in_ptr[t + 1]):
            level[t] = max(level[t], level[in_task[k]] + 1)
