"""Moves of critical tasks on the machines of a job shop, and what they promise (stage 3).

The neighbourhood N6 of E. Balas, A. Vazacopoulos: Guided local search with shifting bottleneck for
job shop scheduling. Management Science 44, 1998, whose estimate ranks the moves.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inlined, inner
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.search.shop_renew import renew
from orchestrator_core.plan.search.shop_state import Shop

TENURE = 8
"""Moves, and up to half as many more, for which what was turned round stays so. Every pair that a
move turns is banned, so few moves do: with 18, a shop of 200 tasks was 1 % longer after 8 s."""


@inlined
def _beside(s: Shop, count: int) -> tuple[int, int]:
    """The tasks before and behind the row's members on their machine, -1 for none."""
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
    return first, last


@inner
def _guess(s: Shop, count: int) -> float:
    """The longest path through the `count` tasks of the row, were they a machine's next tasks in
    this order; the row's outer neighbours are those of its members now."""
    first, last = _beside(s, count)
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
    return most


@inner
def lay(s: Shop, count: int) -> None:
    """Make the row the sequence of its machine where its members stood."""
    first, last = _beside(s, count)
    for i in range(count):
        s.before[s.row[i]] = s.row[i - 1] if i > 0 else first
        s.after[s.row[i]] = s.row[i + 1] if i + 1 < count else last
    if first >= 0:
        s.after[first] = s.row[0]
    if last >= 0:
        s.before[last] = s.row[count - 1]


@inner
def swap(s: Shop, t: int) -> None:
    """Turn t and the next task on its machine round."""
    s.row[0], s.row[1] = s.after[t], t
    lay(s, 2)


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
def _try(p: Project, s: Shop, low: int, high: int, forward: bool) -> tuple[float, bool]:
    """(what the move promises, infinity if it may close a circle; is it banned?)"""
    if not _possible(p, s, low, high, forward):
        return np.inf, False
    count = _to_row(s, low, high, forward)
    return _guess(s, count), _banned(s, count, forward)


@inner
def _choose(p: Project, s: Shop, length: int) -> tuple[int, int, bool]:
    """The most promising move (low, high, forward) along the path that is allowed, or any if none
    is; low = -1 for no move at all."""
    best, best_low, best_high, best_forward = np.inf, -1, -1, True
    other, other_low, other_high, other_forward = 0, -1, -1, True
    i = 0
    while i < length:
        j = i
        while s.machine[s.path[i]] >= 0 and j + 1 < length and s.after[s.path[j]] == s.path[j + 1]:
            j += 1
        for x in range(i, j + 1):
            for side in range(2):
                forward = side == 0
                low, high = (x, j) if forward else (i, x)
                # Of two neighbours, both moves are the same.
                if low >= high or (not forward and high - low == 1 and j - i == 1):
                    continue
                guess, banned = _try(p, s, low, high, forward)
                if guess == np.inf:
                    continue
                guess *= 1.0 + 1e-9 * np.random.random()
                if banned and guess >= s.best[0] * (1 - 1e-9):
                    other += 1
                    if np.random.randint(0, other) == 0:
                        other_low, other_high, other_forward = low, high, forward
                elif guess < best:
                    best, best_low, best_high, best_forward = guess, low, high, forward
        i = j + 1
    if best_low < 0:
        return other_low, other_high, other_forward
    return best_low, best_high, best_forward


@inner
def move(p: Project, s: Shop, length: int) -> float:
    """Make the chosen move along the path, and ban its contrary; the makespan in seconds, -1 if
    there is no move."""
    low, high, forward = _choose(p, s, length)
    if low < 0:
        return -1.0
    count = _to_row(s, low, high, forward)
    first, last = s.path[low], s.path[high]
    moved = first if forward else last
    until = s.state[0] + TENURE + np.random.randint(0, 1 + TENURE // 2)
    for i in range(count):
        t = s.row[i]
        if t != moved and forward:
            s.banned[moved, t] = until
        elif t != moved:
            s.banned[t, moved] = until
    lay(s, count)
    return renew(p, s, first, last, forward)
