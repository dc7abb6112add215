"""Annealing on a disjunctive graph, compiled: estimate, move, renew heads, keep or undo (stage 3).

A worse schedule is kept with the probability of Metropolis; the lot is drawn first, so that a move
whose estimate exceeds it costs no more than that. Kinds of moves are drawn by what they gained
lately (Ropke and Pisinger, An adaptive large neighborhood search heuristic, 2006).
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.arc_kinds import KINDS, move
from orchestrator_core.plan.search.arc_moves import link, undo
from orchestrator_core.plan.search.arc_paths import find_critical, heads, mark, span, tails_from
from orchestrator_core.plan.search.arc_state import Arcs

LEAST = 0.25
"""Every kind of move is drawn at least with this part of an equal share."""

FADE = 0.999
"""What the credit of a kind of move keeps each time that it is drawn."""

REFRESH = 16
"""Kept moves after which the list of critical tasks is renewed."""


@compiled
def load(p: Problem, s: Arcs, order: Ints, worker: Ints, lane: Ints) -> float:
    """Take over a schedule: tasks by start, and the worker and lane of each; its makespan."""
    p, s = lent(p), lent(s)
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
        if s.seconds[t].min() == 0.0:
            s.counts[4] += 1
        if lane[t] < 0:
            s.lane[t] = -1
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
def _share_out(s: Arcs, share: Floats) -> None:
    """Running sums of the chances of all kinds: by gain for each small step."""
    total, so_far = 0.0, 0.0
    for kind in range(KINDS):
        total += s.credit[0, kind] / s.credit[1, kind]
    for kind in range(KINDS):
        so_far += s.credit[0, kind] / s.credit[1, kind] / total + LEAST / KINDS
        share[kind] = so_far


@inner
def _draw_kind(share: Floats) -> int:
    draw, kind = np.random.random() * share[KINDS - 1], 0
    while kind < KINDS - 1 and share[kind] < draw:
        kind += 1
    return kind


@inner
def _value_of_move(p: Problem, s: Arcs, kind: int, limit: float) -> float:
    """Make a move, log it, and renew the heads; infinity if it must exceed the limit."""
    s.counts[2] = s.counts[3] = s.counts[6] = 0
    if move(p, s, kind, limit) and _heads_after(p, s, limit):
        return float(span(p, s))
    return np.inf


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
    p, s = lent(p), lent(s)
    share = np.empty(KINDS)
    s.counts[5] = 0
    changed, unsaved = 0, False
    for step in range(steps):
        if s.value[1] <= target or s.counts[5] > work:
            steps = step
            break
        if step % 64 == 0:
            _share_out(s, share)
        if changed > REFRESH:
            find_critical(s)
            s.counts[5] += len(s.order) // 8
            changed = 0
        kind = _draw_kind(share)
        limit = (s.value[0] - heat * np.log(1.0 - np.random.random())) * (1 + 1e-12)
        before = s.counts[5]
        s.counts[5] += 2
        gain = 0.0
        value = _value_of_move(p, s, kind, limit)
        if value <= limit:
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
