"""Annealing on a disjunctive graph, compiled: estimate, move, renew heads, keep or undo (stage 3).

A worse schedule is kept with the probability of Metropolis; the lot is drawn first, so that a move
whose estimate exceeds it costs no more than that. Kinds of moves are drawn by what they gained
lately (Ropke and Pisinger, An adaptive large neighborhood search heuristic, 2006).
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.arc_moves import link, relocate, renew_tail, step_aside, undo
from orchestrator_core.plan.search.arc_paths import find_critical, heads, mark, span, tails_from
from orchestrator_core.plan.search.arc_state import Arcs

KINDS = 7

LEAST = 0.25
"""Every kind of move is drawn at least with this part of an equal share."""

FADE = 0.999
"""What the credit of a kind of move keeps each time that it is drawn."""

GROUP = 12
"""Most tasks that a move takes along."""

TRIES = 8
"""Draws from an old list of critical tasks before it is renewed."""

REFRESH = 16
"""Kept moves after which it is renewed."""


@compiled
def load(p: Problem, s: Arcs, order: Ints, worker: Ints, lane: Ints) -> float:
    """Take over a schedule: tasks by start, and the worker and lane of each; its makespan."""
    n = len(order)
    s.length[:] = 0
    s.counts[:] = 0
    s.counts[1] = 1
    s.worker[:] = worker
    for x in range(n):
        t = order[x]
        s.order[x], s.rank[t] = t, x
        s.ahead[t] = s.behind[t] = -1
        s.flag[t] = 0
        if lane[t] < 0:
            s.lane[t] = -1
            s.counts[4] += 1
        else:
            link(s, t, lane[t], s.length[lane[t]])
    s.start[:], s.end[:], s.tail[:] = -1.0, -1.0, -1.0
    s.counts[1] += 1
    s.flag[:] = s.counts[1]
    s.tail[:] = -np.inf
    heads(p, s, 0, n, np.inf)
    s.flag[:] = s.counts[1]
    s.tail[:] = -1.0
    tails_from(p, s, n - 1, n)
    s.counts[2] = 0
    s.value[0] = span(p, s)
    s.value[1] = s.value[0]
    _note_best(s)
    find_critical(s)
    return float(s.value[0])


@inner
def _note_best(s: Arcs) -> None:
    """Keep the schedule as it was before the move that is logged."""
    s.best_start[:], s.best_end[:], s.best_worker[:] = s.start, s.end, s.worker
    for row in range(s.counts[2] - 1, -1, -1):
        t = s.old_task[row]
        s.best_start[t], s.best_end[t] = s.old_time[row, 0], s.old_time[row, 1]
    for row in range(s.counts[3] - 1, -1, -1):
        s.best_worker[s.moved[row, 0]] = s.moved[row, 4]


@inner
def _any_critical(s: Arcs) -> int:
    """One of the tasks on a longest path."""
    need = s.value[0] * (1 - 1e-9)
    for _ in range(TRIES):
        t = s.critical[np.random.randint(0, s.counts[0])]
        if s.end[t] + s.tail[t] >= need:
            return int(t)
    find_critical(s)
    s.counts[5] += len(s.order) // 8
    return int(s.critical[np.random.randint(0, s.counts[0])])


@inner
def _heads_after(p: Problem, s: Arcs, limit: float) -> bool:
    """Renew all heads after the moves that are logged; False if that exceeds the limit."""
    s.counts[1] += 1
    waiting, first = 0, len(s.order)
    for row in range(s.counts[3]):
        t = s.moved[row, 0]
        waiting += mark(s, t) + mark(s, s.moved[row, 6]) + mark(s, s.behind[t])
        first = min(first, s.rank[t])
        if s.moved[row, 6] >= 0:
            first = min(first, s.rank[s.moved[row, 6]])
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            waiting += mark(s, p.out_task[k])
    return heads(p, s, first, waiting, limit)


@inner
def _tails_after(p: Problem, s: Arcs) -> None:
    """Renew all tails after the moves that are logged."""
    s.counts[1] += 1
    waiting, last = 0, -1
    for row in range(s.counts[3]):
        u = s.moved[row, 5]
        if u >= 0:
            waiting += mark(s, u)
            last = max(last, s.rank[u])
    for row in range(s.counts[6]):
        t = s.old_tail_task[row]
        last = max(last, s.rank[t])
        waiting += mark(s, t) + mark(s, s.ahead[t])
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            waiting += mark(s, p.in_task[k])
    tails_from(p, s, last, waiting)


@inner
def _any_lane(s: Arcs, b: int) -> int:
    return int(s.lane_ptr[b] + np.random.randint(0, s.lane_ptr[b + 1] - s.lane_ptr[b]))


@inner
def _neighbour(p: Problem, s: Arcs, t: int, produces: bool) -> int:
    """A producer, or consumer, of t, by bytes and chance; or -1."""
    found, most = -1, -1.0
    if produces:
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            draw = p.in_bytes[k] * np.random.random()
            if draw > most:
                found, most = p.in_task[k], draw
    else:
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            draw = p.out_bytes[k] * np.random.random()
            if draw > most:
                found, most = p.out_task[k], draw
    return int(found)


@inner
def _move(p: Problem, s: Arcs, kind: int, limit: float) -> bool:
    """One random move; False if nothing is worth being reckoned through."""
    n, lanes = len(s.order), len(s.length)
    t = np.random.randint(0, n)
    if np.random.random() < 0.9:
        t = _any_critical(s)
    if kind == 0:
        return relocate(p, s, t, np.random.randint(0, lanes), limit)
    if kind == 1:
        # To where an input comes from, or an output goes.
        u = _neighbour(p, s, t, np.random.random() < 0.5)
        return u >= 0 and relocate(p, s, t, _any_lane(s, s.worker[u]), limit)
    if kind == 2:
        u = _neighbour(p, s, t, np.random.random() < 0.5)
        return u >= 0 and relocate(p, s, u, _any_lane(s, s.worker[t]), limit)
    if kind == 3:
        by = 1 + int(3.0 * np.random.random() ** 2)
        if np.random.random() < 0.5:
            by = -by
        return step_aside(p, s, t, by)
    if kind == 4:
        # Two tasks that run at about the same time change places.
        x = np.random.randint(0, lanes)
        y = s.lane[t]
        if x == y or y < 0 or s.length[x] == 0:
            return False
        i = 0
        low, high = 0, s.length[x]
        while low < high:
            i = (low + high) // 2
            if s.end[s.row[x, i]] > s.start[t]:
                high = i
            else:
                low = i + 1
        i = min(s.length[x] - 1, low)
        u = s.row[x, i]
        return relocate(p, s, u, y, np.inf) and relocate(p, s, t, x, limit)
    # A chain, or a task and those beside it, all to one lane.
    x = _any_lane(s, s.worker[t])
    if np.random.random() < 0.6:
        x = np.random.randint(0, lanes)
    ahead = np.random.random() < 0.5
    size = np.random.randint(2, GROUP + 1)
    if kind == 5:
        for _ in range(size):
            if t < 0:
                break
            relocate(p, s, t, x, np.inf)
            t = _neighbour(p, s, t, not ahead)
    else:
        relocate(p, s, t, x, np.inf)
        chance = np.random.random()
        first, past = p.out_ptr[t], p.out_ptr[t + 1]
        if ahead:
            first, past = p.in_ptr[t], p.in_ptr[t + 1]
        if past > first:
            begin = np.random.randint(first, past)
            for k in range(begin, min(past, begin + size)):
                if np.random.random() < chance:
                    u = p.out_task[k]
                    if ahead:
                        u = p.in_task[k]
                    relocate(p, s, u, x, np.inf)
    if s.counts[3] > 1:
        # Each was estimated while some of the others were elsewhere.
        for row in range(s.counts[3]):
            renew_tail(p, s, s.moved[row, 0])
        for row in range(s.counts[3] - 1, -1, -1):
            renew_tail(p, s, s.moved[row, 0])
    return bool(s.counts[3] > 0)


@compiled
def anneal_arcs(
    p: Problem, s: Arcs, seed: int, steps: int, work: int, heat: float, target: float
) -> int:
    """Up to `steps` moves, fewer after about `work` small steps; how many there were.

    Args:
        heat: by how much worse a schedule may be to be kept with probability 1/e, in seconds.
        target: stop at this makespan.
    """
    np.random.seed(seed)
    share = np.empty(KINDS)
    s.counts[5] = 0
    changed, unsaved = 0, False
    for step in range(steps):
        if s.value[1] <= target or s.counts[5] > work:
            steps = step
            break
        if step % 64 == 0:
            total, so_far = 0.0, 0.0
            for kind in range(KINDS):
                total += s.credit[0, kind] / s.credit[1, kind]
            for kind in range(KINDS):
                so_far += s.credit[0, kind] / s.credit[1, kind] / total + LEAST / KINDS
                share[kind] = so_far
        if changed > REFRESH:
            find_critical(s)
            s.counts[5] += len(s.order) // 8
            changed = 0
        draw, kind = np.random.random() * share[KINDS - 1], 0
        while kind < KINDS - 1 and share[kind] < draw:
            kind += 1
        limit = (s.value[0] - heat * np.log(1.0 - np.random.random())) * (1 + 1e-12)
        before = s.counts[5]
        s.counts[5] += 2
        gain = 0.0
        s.counts[2] = s.counts[3] = s.counts[6] = 0
        kept = _move(p, s, kind, limit) and _heads_after(p, s, limit)
        if kept:
            value = span(p, s)
            kept = value <= limit
        if kept:
            gain = max(0.0, s.value[0] - value)
            if unsaved and value > s.value[1]:
                _note_best(s)
                unsaved = False
            s.value[0] = value
            _tails_after(p, s)
            changed += 1
            if value < s.value[1]:
                gain *= 10.0
                s.value[1], unsaved = value, True
        else:
            undo(s)
        s.credit[0, kind] = FADE * s.credit[0, kind] + gain / (heat + 1e-6 * s.value[1])
        s.credit[1, kind] = FADE * s.credit[1, kind] + (s.counts[5] - before) * 0.01
    if unsaved:
        s.counts[2] = s.counts[3] = 0
        _note_best(s)
    return steps
