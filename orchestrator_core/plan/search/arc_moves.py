"""Taking tasks out of the sequence of a lane and putting them into another (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.arc_paths import arrival, followed
from orchestrator_core.plan.search.arc_state import MOST_MOVED, Arcs

AROUND = 3
"""Places in a sequence that are looked at, from the first that can be reached in time."""


@inner
def place_of(s: Arcs, x: int, rank: int) -> int:
    """How many tasks on lane x have a smaller rank."""
    low, high = 0, s.length[x]
    while low < high:
        middle = (low + high) // 2
        if s.rank[s.row[x, middle]] < rank:
            low = middle + 1
        else:
            high = middle
    return int(low)


@inner
def unlink(s: Arcs, t: int) -> int:
    """Take t off its lane; where it was."""
    x = s.lane[t]
    s.slot[3] = s.slot[4] = -1
    if x < 0:
        return -1
    i = place_of(s, x, s.rank[t])
    for k in range(i, s.length[x] - 1):
        s.row[x, k] = s.row[x, k + 1]
    s.length[x] -= 1
    a, c = s.ahead[t], s.behind[t]
    s.slot[3], s.slot[4] = a, c
    if a >= 0:
        s.behind[a] = c
    if c >= 0:
        s.ahead[c] = a
    s.ahead[t] = s.behind[t] = -1
    return i


@inner
def link(s: Arcs, t: int, x: int, i: int) -> None:
    """Put t on lane x, where i tasks come before it."""
    s.lane[t] = x
    if x < 0:
        return
    for k in range(s.length[x], i, -1):
        s.row[x, k] = s.row[x, k - 1]
    s.row[x, i] = t
    s.length[x] += 1
    a, c = -1, -1
    if i > 0:
        a = s.row[x, i - 1]
        s.behind[a] = t
    if i < s.length[x] - 1:
        c = s.row[x, i + 1]
        s.ahead[c] = t
    s.ahead[t], s.behind[t] = a, c


@inner
def turn(s: Arcs, t: int, to: int) -> None:
    """Let t be at position `to` of the order."""
    at = s.rank[t]
    if to < at:
        for x in range(at, to, -1):
            u = s.order[x - 1]
            s.order[x], s.rank[u] = u, x
    else:
        for x in range(at, to):
            u = s.order[x + 1]
            s.order[x], s.rank[u] = u, x
    s.order[to], s.rank[t] = t, to


@inner
def bounds(p: Problem, s: Arcs, t: int) -> None:
    """The turns between which t may be, for its producers and consumers: into `slot`."""
    low, high = -1, len(s.order)
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        low = max(low, s.rank[p.in_task[k]])
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        high = min(high, s.rank[p.out_task[k]])
    s.slot[1], s.slot[2] = low, high


@inner
def find_slot(p: Problem, s: Arcs, t: int, x: int) -> float:
    """The best place for t, which is not on it, on lane x: into `slot` and `slot_time`. The length
    of the longest path through t there, about."""
    b = s.lane_worker[x]
    seconds = s.seconds[t, b]
    if not seconds < np.inf:
        return np.inf
    head, tail = arrival(p, s, t, b), followed(p, s, t, b)
    s.counts[5] += 2
    if seconds == 0.0:
        s.slot[0], s.slot_time[0], s.slot_time[1] = -1, head, tail
        return head + tail
    first, last = place_of(s, x, s.slot[1] + 1), place_of(s, x, s.slot[2])
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if s.end[s.row[x, middle]] > head:
            high = middle
        else:
            low = middle + 1
    best = np.inf
    for i in range(max(first, low - 1), min(last, low + AROUND) + 1):
        begin, after = head, tail
        if i > 0:
            begin = max(begin, s.end[s.row[x, i - 1]])
        if i < s.length[x]:
            c = s.row[x, i]
            after = max(after, s.seconds[c, b] + s.tail[c])
        length = begin + seconds + after
        if length < best:
            best = length
            s.slot[0], s.slot_time[0], s.slot_time[1] = i, begin, after
    return best


@inner
def put(s: Arcs, t: int, x: int, i: int, was: int) -> None:
    """Put t, which was unlinked from place `was` of its lane, into place i of lane x (-1: none);
    log it. Its turn is changed where it must be."""
    row = s.counts[3]
    s.moved[row, 0], s.moved[row, 1], s.moved[row, 2] = t, s.lane[t], was
    s.moved[row, 3], s.moved[row, 4] = s.rank[t], s.worker[t]
    s.moved[row, 5], s.moved[row, 6] = s.slot[3], s.slot[4]
    s.counts[3] = row + 1
    s.counts[5] += 4
    low, high = s.slot[1], s.slot[2]
    if i >= 0:
        if i > 0:
            low = max(low, s.rank[s.row[x, i - 1]])
        if i < s.length[x]:
            high = min(high, s.rank[s.row[x, i]])
    if s.rank[t] < low:
        turn(s, t, low)
    elif s.rank[t] > high:
        turn(s, t, high)
    s.worker[t] = s.lane_worker[x]
    link(s, t, x if i >= 0 else -1, i)


@inner
def undo(s: Arcs) -> None:
    """Take back all that is logged."""
    for row in range(s.counts[2] - 1, -1, -1):
        t = s.old_task[row]
        s.start[t], s.end[t] = s.old_time[row, 0], s.old_time[row, 1]
    for row in range(s.counts[3] - 1, -1, -1):
        t = s.moved[row, 0]
        unlink(s, t)
        turn(s, t, s.moved[row, 3])
        link(s, t, s.moved[row, 1], s.moved[row, 2])
        s.worker[t] = s.moved[row, 4]
    for row in range(s.counts[6] - 1, -1, -1):
        s.tail[s.old_tail_task[row]] = s.old_tail[row]
    s.counts[2] = s.counts[3] = s.counts[6] = 0


@inner
def relocate(p: Problem, s: Arcs, t: int, x: int, limit: float) -> bool:
    """Move t to the best place on lane x, if the paths through it stay within the limit."""
    if s.counts[3] >= MOST_MOVED or (s.lane[t] == x and s.seconds[t, s.worker[t]] > 0.0):
        return False
    bounds(p, s, t)
    length = find_slot(p, s, t, x)
    # Without a limit, too: infinite is what may not run there, and then `slot` is of another task.
    if length > limit or length == np.inf:
        return False
    i, head, tail = s.slot[0], s.slot_time[0], s.slot_time[1]
    was = unlink(s, t)
    put(s, t, x, i, was)
    _set_tail(s, t, tail)
    row = s.counts[2]
    s.old_task[row], s.old_time[row, 0], s.old_time[row, 1] = t, s.start[t], s.end[t]
    s.counts[2] = row + 1
    s.start[t], s.end[t] = head, head + s.seconds[t, s.worker[t]]
    return True


@inner
def _set_tail(s: Arcs, t: int, tail: float) -> None:
    row = s.counts[6]
    s.old_tail_task[row], s.old_tail[row] = t, s.tail[t]
    s.counts[6] = row + 1
    s.tail[t] = tail


@inner
def renew_tail(p: Problem, s: Arcs, t: int) -> None:
    """Reckon the tail of t from what follows it."""
    tail, c = followed(p, s, t, s.worker[t]), s.behind[t]
    if c >= 0:
        tail = max(tail, s.seconds[c, s.worker[c]] + s.tail[c])
    _set_tail(s, t, tail)


@inner
def step_aside(p: Problem, s: Arcs, t: int, by: int) -> bool:
    """Move t by some places on its own lane, as far as its producers and consumers let it."""
    x = s.lane[t]
    if x < 0 or by == 0 or s.counts[3] >= MOST_MOVED:
        return False
    bounds(p, s, t)
    was = unlink(s, t)
    first, last = place_of(s, x, s.slot[1] + 1), place_of(s, x, s.slot[2])
    i = max(first, min(last, was + by))
    put(s, t, x, i, was)
    # Tails of those that it passed: they would stop the reckoning of heads too early.
    for k in range(max(i, was), min(i, was) - 1, -1):
        renew_tail(p, s, s.row[x, k])
    return i != was
