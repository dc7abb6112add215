"""Heads and tails of a disjunctive graph, renewed only where they change (stage 3)."""

from __future__ import annotations

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.arc_state import Arcs


@inner
def arrival(p: Problem, s: Arcs, t: int, b: int) -> float:
    """When all inputs of t are on worker b, as far as they are placed now."""
    ready = p.release[t]
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q = p.in_task[k]
        a = s.worker[q]
        there = s.end[q] + p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b]
        if there > ready:
            ready = there
    return float(ready)


@inner
def followed(p: Problem, s: Arcs, t: int, b: int) -> float:
    """Seconds from the end of t on worker b to the last end, by way of its consumers."""
    tail = 0.0
    for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
        c = p.out_task[k]
        a = s.worker[c]
        way = p.latency[b, a] + p.out_bytes[k] * p.per_byte[b, a] + s.seconds[c, a] + s.tail[c]
        if way > tail:
            tail = way
    return tail


@inner
def mark(s: Arcs, t: int) -> int:
    """Flag t, if there is a t and it is not flagged yet; how many that makes more."""
    if t < 0 or s.flag[t] == s.counts[1]:
        return 0
    s.flag[t] = s.counts[1]
    return 1


@inner
def span(p: Problem, s: Arcs) -> float:
    """The last end."""
    most = 0.0
    for x in range(len(s.length)):
        if s.length[x] > 0:
            most = max(most, s.end[s.row[x, s.length[x] - 1]])
    if s.counts[4] > 0:
        for t in range(len(s.end)):
            most = max(most, s.end[t])
    return most


@inner
def heads(p: Problem, s: Arcs, first: int, waiting: int, limit: float) -> bool:
    """Renew starts and ends from position `first` on, where `waiting` tasks are flagged; log them.
    False as soon as a path must be longer than `limit`."""
    x, n = first, len(s.order)
    stamp = s.counts[1]
    while waiting > 0 and x < n:
        t = s.order[x]
        x += 1
        if s.flag[t] != stamp:
            continue
        waiting -= 1
        s.flag[t] = 0
        b = s.worker[t]
        begin = arrival(p, s, t, b)
        if s.ahead[t] >= 0 and s.end[s.ahead[t]] > begin:
            begin = s.end[s.ahead[t]]
        s.counts[5] += 4
        ending = begin + s.seconds[t, b]
        if begin == s.start[t] and ending == s.end[t]:
            continue
        row = s.counts[2]
        if row == len(s.old_task):
            return False
        s.old_task[row], s.old_time[row, 0], s.old_time[row, 1] = t, s.start[t], s.end[t]
        s.counts[2] = row + 1
        s.start[t], s.end[t] = begin, ending
        if ending + s.tail[t] > limit:
            return False
        waiting += mark(s, s.behind[t])
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            waiting += mark(s, p.out_task[k])
    s.counts[5] += (x - first) // 4
    return True


@inner
def tails_from(p: Problem, s: Arcs, last: int, waiting: int) -> None:
    """Renew tails from position `last` down, where `waiting` tasks are flagged."""
    x = last
    stamp = s.counts[1]
    while waiting > 0 and x >= 0:
        t = s.order[x]
        x -= 1
        if s.flag[t] != stamp:
            continue
        waiting -= 1
        s.flag[t] = 0
        tail = followed(p, s, t, s.worker[t])
        c = s.behind[t]
        if c >= 0:
            tail = max(tail, s.seconds[c, s.worker[c]] + s.tail[c])
        s.counts[5] += 4
        if tail == s.tail[t]:
            continue
        s.tail[t] = tail
        waiting += mark(s, s.ahead[t])
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            waiting += mark(s, p.in_task[k])
    s.counts[5] += (last - x) // 4


@inner
def find_critical(s: Arcs) -> None:
    """Write the tasks on paths as long as the last end."""
    need = s.value[0] * (1 - 1e-9)
    count = 0
    for t in range(len(s.end)):
        if s.end[t] + s.tail[t] >= need:
            s.critical[count] = t
            count += 1
    s.counts[0] = count
