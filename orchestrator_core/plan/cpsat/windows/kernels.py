"""Compiled: who hands capacity on to whom in a schedule, and longest paths over such arcs."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled


@compiled
def handed_on(
    uses: Ints, amount: Floats, supply: Floats, start: Floats, end: Floats, fixed: Ints, late: float
) -> Ints:
    """(2, arcs) giver and taker: each use takes its amount from uses that have ended before it.

    The chains of a partial order schedule (Policella, Cesta, Oddi, Smith 2007): whatever the times
    are, capacities hold as long as these arcs do. What was free first is taken first.

    Args:
        uses: (2, u) group (a worker's threads, one of its resources) and what uses it, sorted by
            group, then by start. amount: (u,). supply: (groups,).
        start, end: (k,) of what uses. fixed: (k,) 0 where it takes no part.
        late: seconds by which a giver may end too late, for rounding.
    """
    count = uses.shape[1]
    arcs, found = np.empty((2, 2 * count + 1), dtype=np.int64), 0
    giver, since = np.empty(count + 2, dtype=np.int64), np.empty(count + 2)
    left, tokens, group = np.empty(count + 2), 0, -1
    for u in range(count):
        item = uses[1, u]
        if fixed[item] == 0:
            continue
        if uses[0, u] != group:
            group = uses[0, u]
            giver[0], since[0], left[0], tokens = -1, -1.0, supply[group], 1
        missing = amount[u]
        while missing > 0.0 and tokens > 0:
            first = 0
            for x in range(1, tokens):
                if since[x] < since[first]:
                    first = x
            if since[first] > start[item] + late:
                break
            if giver[first] >= 0:
                arcs[0, found], arcs[1, found] = giver[first], item
                found += 1
            taken = min(missing, left[first])
            missing -= taken
            left[first] -= taken
            if left[first] <= 0.0:
                tokens -= 1
                giver[first], since[first], left[first] = giver[tokens], since[tokens], left[tokens]
        giver[tokens], since[tokens], left[tokens] = item, end[item], amount[u]
        tokens += 1
    return arcs[:, :found]


@compiled
def longest(arcs: Ints, seconds: Floats, times: Floats) -> None:
    """Raise the times of all heads of arcs to the longest paths that lead there.

    Args:
        arcs: (2, a) tail and head, sorted so that all arcs into a tail come before those out of it.
        seconds: (a,) of each arc. times: (k,) to begin with; raised in place.
    """
    for a in range(arcs.shape[1]):
        there = times[arcs[0, a]] + seconds[a]
        if there > times[arcs[1, a]]:
            times[arcs[1, a]] = there
