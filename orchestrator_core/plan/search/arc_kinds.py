"""The kinds of moves on a disjunctive graph, each drawn at random (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.search.arc_moves import relocate, renew_tail, step_aside
from orchestrator_core.plan.search.arc_paths import find_critical
from orchestrator_core.plan.search.arc_state import Arcs

KINDS = 7

GROUP = 12
"""Most tasks that a move takes along."""

TRIES = 8
"""Draws from an old list of critical tasks before it is renewed."""


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
def _running_then(s: Arcs, x: int, moment: float) -> int:
    """The position on lane x of the first task that ends after the moment, or of the last one."""
    i, low, high = 0, 0, s.length[x]
    while low < high:
        i = (low + high) // 2
        if s.end[s.row[x, i]] > moment:
            high = i
        else:
            low = i + 1
    return int(min(s.length[x] - 1, low))


@inner
def _change_places(p: Problem, s: Arcs, t: int, limit: float) -> bool:
    """Task t and one that runs at about the same time on another lane take each other's place."""
    x, y = np.random.randint(0, len(s.length)), s.lane[t]
    if x == y or y < 0 or s.length[x] == 0:
        return False
    u = s.row[x, _running_then(s, x, s.start[t])]
    return relocate(p, s, u, y, np.inf) and relocate(p, s, t, x, limit)


@inner
def _move_chain(p: Problem, s: Arcs, t: int, x: int, size: int, ahead: bool) -> None:
    """Move t, a neighbour of it and so on to lane x: producers if `ahead`, else consumers."""
    for _ in range(size):
        if t < 0:
            break
        relocate(p, s, t, x, np.inf)
        t = _neighbour(p, s, t, not ahead)


@inner
def _move_star(p: Problem, s: Arcs, t: int, x: int, size: int, ahead: bool) -> None:
    """Move t and some of its producers, if `ahead`, or consumers to lane x."""
    relocate(p, s, t, x, np.inf)
    chance = np.random.random()
    first, past = p.out_ptr[t], p.out_ptr[t + 1]
    if ahead:
        first, past = p.in_ptr[t], p.in_ptr[t + 1]
    if past > first:
        begin = np.random.randint(first, past)
        for k in range(begin, min(past, begin + size)):
            if np.random.random() < chance:
                relocate(p, s, p.in_task[k] if ahead else p.out_task[k], x, np.inf)


@inner
def _move_group(p: Problem, s: Arcs, t: int, chain: bool) -> bool:
    """A chain, or a task and those beside it, all to one lane."""
    x = _any_lane(s, s.worker[t])
    if np.random.random() < 0.6:
        x = np.random.randint(0, len(s.length))
    ahead = np.random.random() < 0.5
    size = np.random.randint(2, GROUP + 1)
    if chain:
        _move_chain(p, s, t, x, size, ahead)
    else:
        _move_star(p, s, t, x, size, ahead)
    if s.counts[3] > 1:
        # Each was estimated while some of the others were elsewhere.
        for row in range(s.counts[3]):
            renew_tail(p, s, s.moved[row, 0])
        for row in range(s.counts[3] - 1, -1, -1):
            renew_tail(p, s, s.moved[row, 0])
    return bool(s.counts[3] > 0)


@inner
def _step_aside(p: Problem, s: Arcs, t: int) -> bool:
    """Task t goes a few places on or back on its lane."""
    by = 1 + int(3.0 * np.random.random() ** 2)
    if np.random.random() < 0.5:
        by = -by
    return step_aside(p, s, t, by)


@inner
def move(p: Problem, s: Arcs, kind: int, limit: float) -> bool:
    """One random move; False if nothing is worth being reckoned through."""
    t = np.random.randint(0, len(s.order))
    if np.random.random() < 0.9:
        t = _any_critical(s)
    if kind == 0:
        return relocate(p, s, t, np.random.randint(0, len(s.length)), limit)
    if kind == 1:
        # To where an input comes from, or an output goes.
        u = _neighbour(p, s, t, np.random.random() < 0.5)
        return u >= 0 and relocate(p, s, t, _any_lane(s, s.worker[u]), limit)
    if kind == 2:
        u = _neighbour(p, s, t, np.random.random() < 0.5)
        return u >= 0 and relocate(p, s, u, _any_lane(s, s.worker[t]), limit)
    if kind == 3:
        return _step_aside(p, s, t)
    if kind == 4:
        return _change_places(p, s, t, limit)
    return _move_group(p, s, t, kind == 5)
