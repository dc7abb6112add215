"""Moves of the search on lanes: each changes the trial a little (stage 3).

A move notes what it changed in `Walk.touched` and `Walk.changed`, so that `take_back` can undo it
and `first_change` knows from which position on there is something to decode.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.lane_walk import Walk

KINDS = 12
"""How many kinds of moves there are."""

NEAR = 3.0
"""Standard deviation of a near shift, in positions."""

FAR = 0.08
"""Standard deviation of a far shift, as a part of all tasks; at most `FARTHEST` positions."""

FARTHEST = 300

CHAIN = 6
"""Most tasks of a chain, or of a stretch of the order, that one move pins."""

FAMILY = 12
"""Most consumers, or producers, that one move draws to a task."""


@inner
def pin(p: Problem, s: Walk, t: int, b: int) -> None:
    """Let t run on worker b, or where the decoder likes for -1, if it may run there."""
    if b == s.place[t] or s.counts[1] >= len(s.touched):
        return
    if b >= 0:
        eligible = False
        for m in range(p.mode_begin[t], p.mode_end[t]):
            eligible = eligible or p.seconds[m, b] < np.inf
        if not eligible:
            return
    row = s.counts[1]
    s.touched[row, 0], s.touched[row, 1], s.touched[row, 2] = t, s.place[t], s.pinned[t]
    s.counts[1] = row + 1
    s.place[t], s.pinned[t] = b, -1
    if b == s.now.worker[t]:
        s.pinned[t] = s.now.mode[t]


@inner
def shift(p: Problem, s: Walk, t: int, to: int) -> None:
    """Move t to position `to`; with it moves what must come before it, or else after it."""
    order, rank, flag, hold = s.order, s.rank, s.flag, s.hold
    at, to = rank[t], max(0, min(len(order) - 1, to))
    s.counts[2] += 1
    stamp, held, others = s.counts[2], 0, 0
    flag[t] = stamp
    if to < at:
        for x in range(at, to - 1, -1):
            u = order[x]
            if flag[u] == stamp:
                hold[held] = u
                held += 1
                for k in range(p.in_ptr[u], p.in_ptr[u + 1]):
                    flag[p.in_task[k]] = stamp
            else:
                order[at - others] = u
                others += 1
        for i in range(held):
            order[to + i] = hold[held - 1 - i]
    else:
        for x in range(at, to + 1):
            u = order[x]
            if flag[u] == stamp:
                hold[held] = u
                held += 1
                for k in range(p.out_ptr[u], p.out_ptr[u + 1]):
                    flag[p.out_task[k]] = stamp
            else:
                order[at + others] = u
                others += 1
        for i in range(held):
            order[to + 1 - held + i] = hold[i]
    first, last = min(at, to), max(at, to)
    for x in range(first, last + 1):
        rank[order[x]] = x
    s.changed[0], s.changed[1] = min(s.changed[0], first), max(s.changed[1], last + 1)


@inner
def first_change(s: Walk) -> int:
    """The first position that decodes otherwise than in the current solution, or n."""
    n = len(s.order)
    first = s.changed[0]
    while first < s.changed[1] and s.order[first] == s.now_order[first]:
        first += 1
    if first >= s.changed[1]:
        first = n
    for row in range(s.counts[1]):
        t = s.touched[row, 0]
        # To pin a task where it is changes nothing.
        if s.place[t] != s.now.worker[t] and s.rank[t] < first:
            first = int(s.rank[t])
    return int(first)


@inner
def take_back(s: Walk) -> None:
    """Make the trial the current solution again."""
    for x in range(s.changed[0], s.changed[1]):
        s.order[x] = s.now_order[x]
        s.rank[s.order[x]] = x
    for row in range(s.counts[1] - 1, -1, -1):
        t = s.touched[row, 0]
        s.place[t], s.pinned[t] = s.touched[row, 1], s.touched[row, 2]


@inner
def move(p: Problem, s: Walk, kind: int) -> None:
    """One random move of a kind; mostly of a task that holds up the value."""
    n, w = len(s.order), len(s.ready)
    now = s.now
    t = np.random.randint(0, n)
    if np.random.random() < 0.8 and s.counts[0] > 0:
        t = s.critical[np.random.randint(0, s.counts[0])]
    first, past = p.in_ptr[t], p.in_ptr[t + 1]
    if kind == 0:
        shift(p, s, t, s.rank[t] + int(np.random.normal(0.0, NEAR)))
    elif kind == 1:
        far = min(FAR * n, FARTHEST) + NEAR
        shift(p, s, t, s.rank[t] + int(np.random.normal(0.0, far)))
    elif kind == 2:
        if now.cause[t] >= 0:
            shift(p, s, t, s.rank[now.cause[t]])
    elif kind == 3 and past > first:
        pin(p, s, t, now.worker[_latest(p, s, t)])
    elif kind == 4 and past > first:
        pin(p, s, _latest(p, s, t), now.worker[t])
    elif kind == 5:
        pin(p, s, t, np.random.randint(0, w))
    elif kind == 6:
        pin(p, s, t, -1)
    elif kind == 7:
        _pin_chain(p, s, t)
    elif kind == 8:
        _gather_family(p, s, t)
    elif kind == 9:
        # Two tasks of about the same turn change places.
        x = s.rank[t] + int(np.random.normal(0.0, 2.0 * w))
        u = s.order[max(0, min(n - 1, x))]
        pin(p, s, t, now.worker[u])
        pin(p, s, u, now.worker[t])
    elif kind == 10:
        x = s.rank[t]
        for y in range(max(0, x - np.random.randint(0, CHAIN)), min(n, x + 1)):
            pin(p, s, s.order[y], -1)
    elif kind == 11:
        # Off to another worker, and before what is in the way there.
        pin(p, s, t, np.random.randint(0, w))
        shift(p, s, t, s.rank[t] - np.random.randint(0, 2 * w))


@inner
def _latest(p: Problem, s: Walk, t: int) -> int:
    """The producer whose output comes last to t; sometimes any of them."""
    first, past = p.in_ptr[t], p.in_ptr[t + 1]
    found, arrival = p.in_task[np.random.randint(first, past)], -1.0
    if np.random.random() < 0.3:
        return int(found)
    b = s.now.worker[t]
    for k in range(first, past):
        q = p.in_task[k]
        a = s.now.worker[q]
        there = s.now.end[q] + p.latency[a, b] + p.in_bytes[k] * p.per_byte[a, b]
        if there > arrival or (there == arrival and a != b):
            found, arrival = q, there
    return int(found)


@inner
def _pin_chain(p: Problem, s: Walk, t: int) -> None:
    """Pin t and the chain of the largest outputs that leads to it, or from it, on one worker."""
    b = s.now.worker[t]
    if np.random.random() < 0.5:
        b = np.random.randint(0, len(s.ready))
    ahead = np.random.random() < 0.5
    for _ in range(np.random.randint(2, CHAIN + 1)):
        pin(p, s, t, b)
        following, most = -1, -1.0
        if ahead:
            for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
                if p.out_bytes[k] * np.random.random() > most:
                    following, most = p.out_task[k], p.out_bytes[k]
        else:
            for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                if p.in_bytes[k] * np.random.random() > most:
                    following, most = p.in_task[k], p.in_bytes[k]
        if following < 0:
            return
        t = following


@inner
def _gather_family(p: Problem, s: Walk, t: int) -> None:
    """Pin some consumers, or producers, of t where t is; all that there is room for."""
    b = s.now.worker[t]
    chance = np.random.random()
    if np.random.random() < 0.5:
        first, past = p.out_ptr[t], p.out_ptr[t + 1]
        begin = first + np.random.randint(0, max(1, past - first))
        for k in range(begin, min(past, begin + FAMILY)):
            if np.random.random() < chance:
                pin(p, s, p.out_task[k], b)
    else:
        first, past = p.in_ptr[t], p.in_ptr[t + 1]
        begin = first + np.random.randint(0, max(1, past - first))
        for k in range(begin, min(past, begin + FAMILY)):
            if np.random.random() < chance:
                pin(p, s, p.in_task[k], b)
