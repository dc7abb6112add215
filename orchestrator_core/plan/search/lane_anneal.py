"""Annealing on lanes, compiled: move, decode from the first change on, keep or take back (stage 3).

A worse trial is kept with the probability of Metropolis; the lot is drawn before it is decoded, so
that a trial can be left as soon as it must exceed what the lot allows. Kinds of moves are drawn by
what they gained lately (Ropke and Pisinger, An adaptive large neighborhood search heuristic, 2006).
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.lane_critical import find_critical, find_latest
from orchestrator_core.plan.search.lane_decode import decode_from, keep
from orchestrator_core.plan.search.lane_moves import KINDS, first_change, move, take_back
from orchestrator_core.plan.search.lane_walk import Walk

LEAST = 0.25
"""Every kind of move is drawn at least with this part of an equal share."""

FADE = 0.999
"""What the credit of a kind of move keeps each time that it is drawn."""


@compiled
def tails(p: Problem, seconds: Floats, near: bool) -> Floats:
    """(n, w) seconds that must pass from the end of a task on a worker to the last end, at least.

    Args:
        seconds: (n, w) shortest duration on each worker, infinity where not eligible.
        near: reckon with each pair of workers, O(edges x workers^2), not with the fastest link.
    """
    n, w = seconds.shape
    tail = np.zeros((n, w))
    latency, per_byte = np.inf, np.inf
    for a in range(w):
        for b in range(w):
            if a != b:
                latency, per_byte = min(latency, p.latency[a, b]), min(per_byte, p.per_byte[a, b])
    for x in range(n - 1, -1, -1):
        t = p.topological[x]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c, nbytes = p.out_task[k], p.out_bytes[k]
            elsewhere = np.inf
            for b in range(w):
                elsewhere = min(elsewhere, tail[c, b] + seconds[c, b])
            if w > 1:
                elsewhere += latency + nbytes * per_byte
            for a in range(w):
                least = min(tail[c, a] + seconds[c, a], elsewhere)
                if near:
                    least = tail[c, a] + seconds[c, a]
                    for b in range(w):
                        if a != b:
                            way = p.latency[a, b] + nbytes * p.per_byte[a, b]
                            least = min(least, tail[c, b] + seconds[c, b] + way)
                tail[t, a] = max(tail[t, a], least)
    return tail


@inner
def _note_best(s: Walk) -> None:
    if s.value[0] < s.value[1]:
        s.value[1] = s.value[0]
        s.best_order[:], s.best_place[:], s.best_pinned[:] = s.order, s.place, s.pinned
        s.best_start[:], s.best_end[:] = s.now.start, s.now.end
        s.best_worker[:], s.best_mode[:] = s.now.worker, s.now.mode


@inner
def _settle(p: Problem, s: Walk, first: int, value: float) -> None:
    keep(s, first)
    s.value[0] = value
    find_critical(p, s)
    _note_best(s)


@compiled
def begin(p: Problem, s: Walk, order: Ints, place: Ints, pinned: Ints, look: float) -> float:
    """Make this the current solution; its value. The best so far is kept."""
    s.order[:], s.place[:], s.pinned[:] = order, place, pinned
    for x in range(len(order)):
        s.rank[order[x]] = x
    s.filled[1] = 0
    _settle(p, s, 0, decode_from(p, s, 0, np.inf, look))
    return float(s.value[0])


@compiled
def latest_starts(p: Problem, s: Walk) -> Floats:
    """(n,) when each task of the current solution may start at the latest, for the same makespan
    and the same order on each lane; no task later than its consumers."""
    find_latest(p, s)
    start = s.latest - (s.now.end - s.now.start)
    for x in range(len(start) - 1, -1, -1):
        t = s.now_order[x]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            # By rounding alone, where a producer takes no time: it would be decoded after them.
            start[t] = min(start[t], start[p.out_task[k]])
    return start


@inner
def _draw_kind(s: Walk, share: Floats) -> int:
    draw, kind = np.random.random() * share[KINDS - 1], 0
    while kind < KINDS - 1 and share[kind] < draw:
        kind += 1
    return kind


@inner
def _share_out(s: Walk, share: Floats) -> None:
    """Running sums of the chances of all kinds: by gain for each task decoded."""
    total = 0.0
    for kind in range(KINDS):
        total += s.credit[0, kind] / s.credit[1, kind]
    so_far = 0.0
    for kind in range(KINDS):
        so_far += s.credit[0, kind] / s.credit[1, kind] / total + LEAST / KINDS
        share[kind] = so_far


@compiled
def anneal(
    p: Problem, s: Walk, seed: int, steps: int, work: int, heat: float, target: float
) -> int:
    """Up to `steps` moves, fewer after about `work` tasks were placed; how many there were.

    Args:
        heat: by how much worse a trial may be to be kept with probability 1/e, in the unit of the
            value.
        target: stop at this value.
    """
    np.random.seed(seed)
    p = lent(p)
    n = len(s.order)
    share = np.empty(KINDS)
    placed = 0
    for step in range(steps):
        if s.value[1] <= target or placed > work:
            return step
        if step % 64 == 0:
            _share_out(s, share)
        s.counts[1], s.changed[0], s.changed[1] = 0, n, 0
        kind = _draw_kind(s, share)
        move(p, s, kind)
        while np.random.random() < 0.3:
            move(p, s, _draw_kind(s, share))
        first = first_change(s)
        placed += 2
        if first == n:
            continue
        limit = s.value[0] - heat * np.log(1.0 - np.random.random())
        value = decode_from(p, s, first, limit * (1 + 1e-12), 0.0)
        decoded = s.filled[0] - first
        placed += decoded
        gain = 0.0
        if value <= limit * (1 + 1e-12):
            gain = max(0.0, s.value[0] - value)
            better = value < s.value[1]
            _settle(p, s, first, value)
            if better:
                gain *= 10.0
        else:
            take_back(s)
        s.credit[0, kind] = FADE * s.credit[0, kind] + gain / (heat + 1e-6 * s.value[1])
        s.credit[1, kind] = FADE * s.credit[1, kind] + (decoded + 10.0) / n
    return steps
