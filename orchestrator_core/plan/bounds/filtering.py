"""Which workers remain possible for schedules shorter than a target. Compiled (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.relaxation import Side
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import compiled, inner


@inner
def _one_worker(head: Floats, tail: Floats, work: Floats, enough: float) -> float:
    """What tasks on one worker need together: J. R. Jackson's preemptive bound (1955).

    For all pairs (s, u): s, plus the work of what starts no sooner than s and has at least u
    behind it, plus u. It stops at `enough`.
    """
    by_tail = np.argsort(-tail)
    best = 0.0
    for since in np.unique(head):
        total = 0.0
        for k in by_tail:
            if head[k] >= since:
                total += work[k]
                best = max(best, since + total + tail[k])
        if best >= enough:
            break
    return best


@inner
def find_root(parent: Ints, t: int) -> int:
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t


@inner
def apart_in_time(
    side: Side,
    seconds: Floats,
    may: Flags,
    head: Floats,
    tail: Floats,
    target: float,
    t: int,
    e: int,
) -> bool:
    """Are there two different workers that are fast enough for t and the producer of its edge e?"""
    q, w = side.before[e], seconds.shape[1]
    for a in range(w):
        if not may[q, a]:
            continue
        made = head[q, a] + seconds[q, a]
        for b in range(w):
            if b != a and may[t, b]:
                way = side.latency[a, b] + side.part[e] * side.per_byte[a, b]
                way += side.whole[e] * side.encode[a, b]
                if made + way + seconds[t, b] + tail[t, b] < target:
                    return True
    return False


@inner
def _join_inseparable(
    side: Side,
    seconds: Floats,
    active: Flags,
    may: Flags,
    head: Floats,
    tail: Floats,
    target: float,
    parent: Ints,
) -> None:
    """Join producers and consumers that no two different workers are fast enough for."""
    for t in range(len(seconds)):
        for e in range(side.ptr[t], side.ptr[t + 1]):
            q = side.before[e]
            forced = active[t] and active[q]
            forced = forced and not apart_in_time(side, seconds, may, head, tail, target, t, e)
            if forced:
                x, y = find_root(parent, q), find_root(parent, t)
                parent[max(x, y)] = min(x, y)


@inner
def _fits(
    members: Ints, b: int, work: Floats, head: Floats, tail: Floats, may: Flags, target: float
) -> bool:
    """May all members run on worker b and be done in time?"""
    for t in members:
        if not may[t, b]:
            return False
    for kind in range(work.shape[0]):
        need = _one_worker(head[members, b], tail[members, b], work[kind, members, b], target)
        if need >= target:
            return False
    return True


@inner
def in_time(
    seconds: Floats, latest: float, head: Floats, tail: Floats, target: float, may: Flags
) -> tuple[int, bool]:
    """(w,) each: take away the workers on which a task ends too late; how many are left, and were
    there more?"""
    left, fewer = 0, False
    for b in range(len(may)):
        if may[b]:
            end = head[b] + seconds[b]
            if end + tail[b] >= target or end > latest:
                may[b], fewer = False, True
            else:
                left += 1
    return left, fewer


@inner
def on_one_worker(
    members: Ints, work: Floats, head: Floats, tail: Floats, target: float, may: Flags
) -> tuple[int, bool]:
    """Take away the workers that cannot run a whole class; how many are left, and were there
    more?"""
    left, fewer = 0, False
    for b in range(may.shape[1]):
        if _fits(members, b, work, head, tail, may, target):
            left += 1
            continue
        for t in members:
            if may[t, b]:
                may[t, b], fewer = False, True
    return left, fewer


@inner
def _settled(b: int, active: Flags, may: Flags) -> Ints:
    """The tasks that may run on worker b only."""
    settled, many = np.empty(len(active), dtype=np.int64), 0
    for t in range(len(active)):
        if active[t] and may[t, b] and may[t].sum() == 1:
            settled[many] = t
            many += 1
    return settled[:many]


@compiled
def restrict(
    side: Side,
    seconds: Floats,
    work: Floats,
    deadline: Floats,
    head: Floats,
    tail: Floats,
    target: float,
    slack: float,
    active: Flags,
    may: Flags,
    parent: Ints,
) -> int:
    """Take away from `may` what no schedule shorter than `target` seconds has.

    Args:
        side: the graph, forward. seconds, work, deadline: see `Relaxation`.
        head, tail: (n, w) seconds. slack: seconds by which a deadline may be missed.
        active: (n,) the others are as if they were not there.
        may: (n, w), changed in place.
        parent: (n,) filled with a task of each task's class; a class shares one worker.

    Returns:
        1 if `may` changed, 0 if not, -1 if there is no such schedule.
    """
    n, w = seconds.shape
    changed = False
    for t in range(n):
        parent[t] = t
        if active[t]:
            left, fewer = in_time(seconds[t], deadline[t] + slack, head[t], tail[t], target, may[t])
            changed |= fewer
            if left == 0:
                return -1
    _join_inseparable(side, seconds, active, may, head, tail, target, parent)
    for t in range(n):
        parent[t] = find_root(parent, t)
    order = np.argsort(parent, kind="mergesort")
    first = 0
    while first < n:
        past = first
        while past < n and parent[order[past]] == parent[order[first]]:
            past += 1
        if past - first > 1:
            left, fewer = on_one_worker(order[first:past], work, head, tail, target, may)
            changed |= fewer
            if left == 0:
                return -1
        first = past
    for b in range(w):
        settled = _settled(b, active, may)
        if len(settled) > 1 and not _fits(settled, b, work, head, tail, may, target):
            return -1
    return 1 if changed else 0
