"""tabu: tabu search on the critical path of a job shop, compiled (stage 3).

A task of a critical block, which is a run of tasks on one machine of the longest path, moves to the
begin or behind the end of its block: the neighbourhood N6 of E. Balas, A. Vazacopoulos: Guided
local search with shifting bottleneck for job shop scheduling. Management Science 44, 1998, whose
estimate ranks the moves. What was turned round stays so for a while, as in E. Nowicki,
C. Smutnicki: A fast taboo search algorithm for the job shop problem. Management Science 42, 1996.
After long without a better schedule, it goes back to the best one and turns some critical pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.project import Project

IDLE = 4_000
"""Moves without a better schedule after which the search goes back."""

KICKS = 8
"""Critical pairs that are turned round then."""


class Shop(NamedTuple):
    """Sequences on machines, and what they make of n tasks.

    Attributes:
        machine: (n,) -1 for tasks that wait for no machine. seconds: (n,) > 0.
        before, after: (n,) neighbours on the machine, -1 for none.
        best_before, best_after, best_start: (n,) of the best schedule.
        head, tail: (n,) seconds before a task's start, and after its end, at least.
        ready, rest: (n,) the same, but for what its own producers and consumers ask alone.
        top, missing, path, row: (n,) to compute with. reach: (2, n) heads and tails of a move.
        banned: (n, n) the move up to which a may not be put before b again.
        state: (2,) moves so far, and the move of the best schedule. best: (1,) seconds.
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
    missing: Ints
    path: Ints
    row: Ints
    reach: Floats
    banned: Ints
    state: Ints
    best: Floats


@inner
def _measure(p: Project, s: Shop) -> float:
    """Heads and tails of all tasks; the makespan in seconds."""
    n, count, makespan = len(s.head), 0, 0.0
    for t in range(n):
        s.missing[t] = p.in_ptr[t + 1] - p.in_ptr[t] + (1 if s.before[t] >= 0 else 0)
        if s.missing[t] == 0:
            s.top[count] = t
            count += 1
    i = 0
    while i < count:
        t = s.top[i]
        i += 1
        ready = p.release[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            ready = max(ready, s.head[q] + s.seconds[q])
        s.ready[t] = s.head[t] = ready
        a = s.before[t]
        if a >= 0:
            s.head[t] = max(ready, s.head[a] + s.seconds[a])
        makespan = max(makespan, s.head[t] + s.seconds[t])
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
    for i in range(n - 1, -1, -1):
        t = s.top[i]
        rest = 0.0
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            rest = max(rest, s.seconds[c] + s.tail[c])
        s.rest[t] = s.tail[t] = rest
        c = s.after[t]
        if c >= 0:
            s.tail[t] = max(rest, s.seconds[c] + s.tail[c])
    return makespan


@inner
def _longest(p: Project, s: Shop, makespan: float) -> int:
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


@inner
def _guess(s: Shop, count: int) -> float:
    """The longest path through the `count` tasks of the row, were they a machine's next tasks in
    this order; the row's outer neighbours are those of its members now."""
    first, last = -1, -1
    for i in range(count):
        s.missing[s.row[i]] = -7
    for i in range(count):
        a, c = s.before[s.row[i]], s.after[s.row[i]]
        if a >= 0 and s.missing[a] != -7:
            first = a
        if c >= 0 and s.missing[c] != -7:
            last = c
    until = s.head[first] + s.seconds[first] if first >= 0 else 0.0
    for i in range(count):
        t = s.row[i]
        s.reach[0, i] = max(s.ready[t], until)
        until = s.reach[0, i] + s.seconds[t]
    left, most = (s.seconds[last] + s.tail[last] if last >= 0 else 0.0), 0.0
    for i in range(count - 1, -1, -1):
        t = s.row[i]
        s.reach[1, i] = max(s.rest[t], left)
        left = s.reach[1, i] + s.seconds[t]
        most = max(most, s.reach[0, i] + left)
    for i in range(count):
        s.missing[s.row[i]] = 0
    return most


@inner
def _lay(s: Shop, count: int) -> None:
    """Make the row the sequence of its machine where its members stood."""
    first, last = -1, -1
    for i in range(count):
        s.missing[s.row[i]] = -7
    for i in range(count):
        a, c = s.before[s.row[i]], s.after[s.row[i]]
        if a >= 0 and s.missing[a] != -7:
            first = a
        if c >= 0 and s.missing[c] != -7:
            last = c
    for i in range(count):
        s.missing[s.row[i]] = 0
        s.before[s.row[i]] = s.row[i - 1] if i > 0 else first
        s.after[s.row[i]] = s.row[i + 1] if i + 1 < count else last
    if first >= 0:
        s.after[first] = s.row[0]
    if last >= 0:
        s.before[last] = s.row[count - 1]


@inner
def _to_row(s: Shop, low: int, high: int, forward: bool) -> int:
    """The path's tasks from low to high as a row, the first moved behind the last if forward,
    the last before the first if not; how many they are."""
    count = high - low + 1
    for i in range(count):
        if forward:
            s.row[i] = s.path[low + 1 + i] if i + 1 < count else s.path[low]
        else:
            s.row[i] = s.path[low + i - 1] if i > 0 else s.path[high]
    return count


@inner
def _possible(p: Project, s: Shop, low: int, high: int, forward: bool) -> bool:
    """Does the move surely close no circle? For neighbours it never does, since all durations are
    positive; for others the condition is sufficient, not necessary."""
    u, v = s.path[low], s.path[high]
    if forward:
        for k in range(p.out_ptr[u], p.out_ptr[u + 1]):
            c = p.out_task[k]
            if high - low > 1 and s.tail[v] + s.seconds[v] < s.tail[c] + s.seconds[c]:
                return False
    else:
        for k in range(p.in_ptr[v], p.in_ptr[v + 1]):
            q = p.in_task[k]
            if high - low > 1 and s.head[u] + s.seconds[u] < s.head[q] + s.seconds[q]:
                return False
    return True


@inner
def _banned(s: Shop, count: int, forward: bool) -> bool:
    """Would the row put a task before another one of which that is not allowed yet?"""
    moved = s.row[count - 1] if forward else s.row[0]
    for i in range(count):
        other = s.row[i]
        if other == moved:
            continue
        a, b = (other, moved) if forward else (moved, other)
        if s.banned[a, b] > s.state[0]:
            return True
    return False


@inner
def _move(p: Project, s: Shop, length: int, tenure: int) -> bool:
    """Make the most promising move that is allowed; False if there is none at all."""
    best, best_low, best_high, best_forward = np.inf, -1, -1, True
    other, other_low, other_high, other_forward = 0, -1, -1, True
    i = 0
    while i < length:
        j = i
        m = s.machine[s.path[i]]
        while m >= 0 and j + 1 < length and s.after[s.path[j]] == s.path[j + 1]:
            j += 1
        for x in range(i, j + 1):
            for side in range(2):
                forward = side == 0
                low, high = (x, j) if forward else (i, x)
                # Of two neighbours, both moves are the same.
                if low >= high or (not forward and high - low == 1 and j - i == 1):
                    continue
                if not _possible(p, s, low, high, forward):
                    continue
                count = _to_row(s, low, high, forward)
                guess = _guess(s, count) * (1.0 + 1e-9 * np.random.random())
                if _banned(s, count, forward) and guess >= s.best[0] * (1 - 1e-9):
                    other += 1
                    if np.random.randint(0, other) == 0:
                        other_low, other_high, other_forward = low, high, forward
                elif guess < best:
                    best, best_low, best_high, best_forward = guess, low, high, forward
        i = j + 1
    if best_low < 0:
        best_low, best_high, best_forward = other_low, other_high, other_forward
    if best_low < 0:
        return False
    count = _to_row(s, best_low, best_high, best_forward)
    moved = s.row[count - 1] if best_forward else s.row[0]
    until = s.state[0] + tenure + np.random.randint(0, 1 + tenure // 2)
    for i in range(count):
        t = s.row[i]
        if t != moved and best_forward:
            s.banned[moved, t] = until
        elif t != moved:
            s.banned[t, moved] = until
    _lay(s, count)
    return True


@inner
def _kick(p: Project, s: Shop) -> None:
    """Go back to the best schedule and turn some neighbours of a longest path round."""
    s.before[:], s.after[:] = s.best_before, s.best_after
    for _ in range(1 + np.random.randint(0, KICKS)):
        length = _longest(p, s, _measure(p, s))
        for _ in range(20):
            x = np.random.randint(0, length)
            # Critical neighbours may always be turned round: no other path joins them.
            if x + 1 < length and s.after[s.path[x]] == s.path[x + 1]:
                _lay(s, _to_row(s, x, x + 1, True))
                break
    s.banned[:] = 0


@compiled
def tabu(p: Project, s: Shop, seed: int, moves: int, tenure: int, target: float) -> int:
    """Make so many moves, or until a schedule of at most `target` seconds; how many were made."""
    np.random.seed(seed)
    for number in range(moves):
        makespan = _measure(p, s)
        s.state[0] += 1
        if makespan < s.best[0] * (1 - 1e-12):
            s.best[0], s.state[1] = makespan, s.state[0]
            s.best_before[:], s.best_after[:] = s.before, s.after
            s.best_start[:] = s.head
        if s.best[0] <= target:
            return number + 1
        stuck = s.state[0] - s.state[1] > IDLE
        if not stuck:
            stuck = not _move(p, s, _longest(p, s, makespan), tenure)
        if stuck:
            s.state[1] = s.state[0]
            _kick(p, s)
    return moves
