"""One sweep that raises heads, or tails where the graph is reversed. Compiled (stage 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.relaxation import Side
from orchestrator_core.plan.engine.compiled import compiled, inner

Flags = NDArray[np.bool_]
Choices = NDArray[np.int8]

OPEN, KEPT, CUT = 0, 1, 2
"""An edge may be either; both its tasks run on one worker; they run on two."""


@inner
def _local_end(release: Floats, seconds: Floats, work: Floats, order: Ints, count: int) -> float:
    """When a worker can have run the first `count` of `order`, whatever the order on it."""
    chosen = order[:count]
    for k in range(count):
        if release[chosen[k]] == np.inf:
            return np.inf
    by_release = chosen[np.argsort(-release[chosen])]
    total, end = 0.0, 0.0
    for i in by_release:
        total += work[i]
        end = max(end, release[i] + total, release[i] + seconds[i])
    return end


@inner
def _joined(here: Floats, seconds: Floats, work: Floats, remote: Floats, base: float) -> float:
    """The least start of a task whose inputs are each made here or come from elsewhere.

    With the inputs sorted by when they can arrive from elsewhere, the latest first: a start at s
    forces exactly those to be made here that cannot arrive by s. So the best k is where the end of
    the first k here, which grows with k, meets the arrival of the next, which falls. Inputs that
    can arrive by `base` anyway are left out.
    """
    many = 0
    for i in range(len(remote)):
        many += remote[i] > base
    if many < 2:
        return base  # which is no sooner than the end of a single one here
    late = np.flatnonzero(remote > base)
    late = late[np.argsort(-remote[late])]
    # Few are forced to be made here in most cases, so it is looked among the first few first.
    low, high = 0, 1
    while high < len(late) and _local_end(here, seconds, work, late, high) < remote[late[high]]:
        low, high = high + 1, 2 * high
    high = min(high, len(late))
    while low < high:
        k = (low + high) // 2
        if _local_end(here, seconds, work, late, k) >= remote[late[k]]:
            high = k
        else:
            low = k + 1
    best = _local_end(here, seconds, work, late, low)
    if low > 0:
        best = min(best, remote[late[low - 1]])
    return max(base, best)


@inner
def _by_end(seconds: Floats, may: Flags, head: Floats, able: Ints) -> int:
    """Fill `able` with the workers that a task may run on, where it can end first coming first; how
    many they are. All arrays are (w,)."""
    many = 0
    for a in range(len(may)):
        if may[a]:
            x = many
            while x > 0 and head[able[x - 1]] + seconds[able[x - 1]] > head[a] + seconds[a]:
                able[x] = able[x - 1]
                x -= 1
            able[x] = a
            many += 1
    return many


@inner
def _from_away(side: Side, seconds: Floats, head: Floats, able: Ints, e: int, b: int) -> float:
    """When the bytes of edge e can first be on worker b if another worker made them, in seconds.

    It looks at workers only as long as one could be sooner, were its link to b the fastest of all.

    Args:
        able: see `_by_end`, of the task before.
    """
    q, first = side.before[e], np.inf
    shortest = side.least[0, b] + side.part[e] * side.least[1, b]
    for a in able:
        end = head[q, a] + seconds[q, a]
        if end + side.whole[e] * side.least[2, b] + shortest >= first:
            break
        if a != b:
            way = side.latency[a, b] + side.part[e] * side.per_byte[a, b]
            first = min(first, end + side.whole[e] * side.encode[a, b] + way)
    return first


@inner
def _is_behind(side: Side, moved: Flags, t: int) -> bool:
    """Has something changed that the head of t depends on?"""
    found = moved[t]
    for e in range(side.ptr[t], side.ptr[t + 1]):
        found = found or moved[side.before[e]]
    return bool(found)


@compiled
def raise_heads(
    side: Side,
    seconds: Floats,
    work: Floats,
    active: Flags,
    may: Flags,
    head: Floats,
    edge: Choices,
    moved: Flags,
) -> int:
    """Raise `head` in place; take away from `may` where no input can ever be.

    O(edges w^2) at worst, and about O(edges w) where links are alike.

    Either a task's input is made on its own worker or its bytes travel: paths indexed by worker
    (CEFT of A. Shirvani and others), with the join of all inputs of a task in place of the longest
    one.

    Args:
        seconds, work: (n, w), see `Relaxation`; of `work` kind 0.
        active: (n,) the others are as if they were not there.
        may: (n, w) where each task may run. head: (n, w) seconds, lower bounds on the start.
        edge: by `Side.pair`: OPEN, KEPT or CUT.
        moved: (n,) those of which something has changed since heads were raised last, at an edge
            both; others follow in place.

    Returns:
        1 if a head or `may` changed, 0 if not, -1 if a task has no worker left.
    """
    n, w = seconds.shape
    able, many = np.empty((n, w), dtype=np.int64), np.full(n, -1, dtype=np.int64)
    most = 0
    for t in side.order:
        most = max(most, side.ptr[t + 1] - side.ptr[t])
    here, length, load = np.empty(most), np.empty(most), np.empty(most)
    remote = np.empty(most)
    changed = 0
    for t in side.order:
        if not (active[t] and _is_behind(side, moved, t)):
            continue
        for e in range(side.ptr[t], side.ptr[t + 1]):
            q = side.before[e]
            if many[q] < 0:
                many[q] = _by_end(seconds[q], may[q], head[q], able[q])
        alive = False
        for b in range(w):
            if not may[t, b]:
                continue
            base = head[t, b]
            m = 0
            for e in range(side.ptr[t], side.ptr[t + 1]):
                q = side.before[e]
                if not active[q]:
                    continue
                choice, away = edge[side.pair[e]], np.inf
                if choice != KEPT:
                    away = _from_away(side, seconds, head, able[q, : many[q]], e, b)
                remote[m], here[m], length[m], load[m] = away, np.inf, 0.0, 0.0
                if may[q, b] and choice != CUT:
                    here[m], length[m], load[m] = head[q, b], seconds[q, b], work[q, b]
                base = max(base, min(away, here[m] + length[m]))
                m += 1
            if m > 1 and base < np.inf:
                base = _joined(here[:m], length[:m], load[:m], remote[:m], base)
            if base == np.inf:
                may[t, b], moved[t], changed = False, True, 1
                continue
            alive = True
            if base > head[t, b]:
                head[t, b], moved[t], changed = base, True, 1
        if not alive:
            return -1
    return changed
