"""Sequences of tasks on the machines of a job shop, and the paths through them (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inlined, inner
from orchestrator_core.plan.engine.project import Project


class Shop(NamedTuple):
    """Sequences on machines, and what they make of n tasks.

    Attributes:
        machine: (n,) -1 for tasks that wait for no machine. seconds: (n,) > 0.
        before, after: (n,) neighbours on the machine, -1 for none.
        best_before, best_after, best_start: (n,) of the best schedule.
        head, tail: (n,) seconds before a task's start, and after its end, at least.
        ready, rest: (n,) the same, but for what its own producers and consumers ask alone.
        top: (n,) the tasks, each behind all that it waits for. spot: (n,) their places in it.
        missing, path, row: (n,) to compute with. reach: (2, n) heads and tails of a move.
        banned: (n, n) the move up to which a may not be put before b again.
        state: (1,) moves so far. best: (1,) seconds.
    """

    machine: Ints
    seconds: Floats
    before: Ints
    after: Ints
    best_before: Ints
    best_after: Ints
    best_start: Floats
    head: Floats
    tail: Floats
    ready: Floats
    rest: Floats
    top: Ints
    spot: Ints
    missing: Ints
    path: Ints
    row: Ints
    reach: Floats
    banned: Ints
    state: Ints
    best: Floats


@inner
def measure(p: Project, s: Shop) -> float:
    """Order, heads and tails of all tasks; the makespan in seconds."""
    _sort(p, s)
    for i in range(len(s.top)):
        s.spot[s.top[i]] = i
    write_heads(p, s, 0)
    write_tails(p, s, len(s.top) - 1)
    return longest_end(s)


@inlined
def _sort(p: Project, s: Shop) -> None:
    """Write the tasks into `top`: all that one waits for come before it."""
    n, count = len(s.head), 0
    for t in range(n):
        s.missing[t] = p.in_ptr[t + 1] - p.in_ptr[t] + (1 if s.before[t] >= 0 else 0)
        if s.missing[t] == 0:
            s.top[count] = t
            count += 1
    for i in range(n):
        t = s.top[i]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            s.missing[c] -= 1
            if s.missing[c] == 0:
                s.top[count] = c
                count += 1
        c = s.after[t]
        if c >= 0:
            s.missing[c] -= 1
            if s.missing[c] == 0:
                s.top[count] = c
                count += 1


@inlined
def write_heads(p: Project, s: Shop, first: int) -> None:
    """From that place of the order to the last one."""
    for i in range(first, len(s.top)):
        t = s.top[i]
        ready = p.release[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            ready = max(ready, s.head[q] + s.seconds[q])
        s.ready[t] = s.head[t] = ready
        a = s.before[t]
        if a >= 0:
            s.head[t] = max(ready, s.head[a] + s.seconds[a])


@inlined
def write_tails(p: Project, s: Shop, last: int) -> None:
    """From that place of the order down to the first one."""
    for i in range(last, -1, -1):
        t = s.top[i]
        rest = 0.0
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            rest = max(rest, s.seconds[c] + s.tail[c])
        s.rest[t] = s.tail[t] = rest
        c = s.after[t]
        if c >= 0:
            s.tail[t] = max(rest, s.seconds[c] + s.tail[c])


@inlined
def longest_end(s: Shop) -> float:
    """The makespan in seconds, by the heads."""
    makespan = 0.0
    for t in range(len(s.head)):
        makespan = max(makespan, s.head[t] + s.seconds[t])
    return makespan


@inner
def longest(p: Project, s: Shop, makespan: float) -> int:
    """Write a longest path, the first task first; how many tasks it has."""
    n, slack = len(s.head), 1e-9 * makespan
    t, drawn = -1, 0
    for other in range(n):
        if s.head[other] + s.seconds[other] >= makespan - slack:
            drawn += 1
            if np.random.randint(0, drawn) == 0:
                t = other
    count = 0
    while t >= 0 and count < n:
        s.path[n - 1 - count] = t
        count += 1
        found, drawn = -1, 0
        a = s.before[t]
        if a >= 0 and s.head[a] + s.seconds[a] >= s.head[t] - slack:
            found, drawn = a, 1
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            if q != a and s.head[q] + s.seconds[q] >= s.head[t] - slack:
                drawn += 1
                if np.random.randint(0, drawn) == 0:
                    found = q
        t = found
    for i in range(count):
        s.path[i] = s.path[n - count + i]
    return count
