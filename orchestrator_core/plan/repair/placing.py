"""Placing the rest on threads: the fast kernel of repair, for instances where only threads count.

Each waiting task of the order is appended to a lane (thread) of a worker, where it ends first or
where it was planned. Nothing is inserted into gaps: an order by planned starts leaves few, and so
ten thousand tasks take about a millisecond.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inlined, inner, lent
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING, Placement, Rest

STRIDE = 32
"""Tasks between two notes of the lanes, from which placing can be taken up again."""


class Lanes(NamedTuple):
    """The threads of all workers: those of worker b are ``ptr[b] : ptr[b + 1]``.

    Attributes:
        free: (lanes,) seconds from which a lane is free. last: (lanes,) the task before, or -1.
        enough: (w,) workers that have a thread for each task; one lane, always free, stands for
            all of them.
    """

    ptr: Ints
    free: Floats
    last: Ints
    enough: NDArray[np.bool_]


@inner
def _running(r: Rest, w: int) -> Ints:
    """(w,) how many tasks run on each worker, others' included."""
    running = np.zeros(w, dtype=np.int64)
    for t in range(len(r.status)):
        if r.status[t] == RUNNING or r.busy_until[t] > r.now:
            running[r.worker[t]] += 1
    for b in r.taken:
        running[b] += 1
    return running


@inner
def _hold(lanes: Lanes, running: Ints, b: int, until: float) -> None:
    """Let one more lane of worker b be busy until then, beside those that are `running`."""
    if lanes.enough[b]:
        return
    lane = lanes.ptr[b] + running[b]
    if lane >= lanes.ptr[b + 1]:
        lane = lanes.ptr[b] + np.argmin(lanes.free[lanes.ptr[b] : lanes.ptr[b + 1]])
    lanes.free[lane] = max(lanes.free[lane], until)
    running[b] += 1


@inner
def lanes_now(p: Problem, r: Rest, most: int) -> Lanes:
    """The lanes with what is running on them; at most `most` waiting tasks will come. Where more is
    running than there are threads, a lane is free once fewer are running than there are threads."""
    w = len(p.worker_threads)
    running = _running(r, w)
    ptr, enough = np.zeros(w + 1, dtype=np.int64), np.zeros(w, dtype=np.bool_)
    for b in range(w):
        enough[b] = p.worker_threads[b] >= running[b] + most
        ptr[b + 1] = ptr[b] + (1 if enough[b] else p.worker_threads[b])
    lanes = Lanes(ptr, np.full(ptr[w], r.now), np.full(ptr[w], -1, dtype=np.int64), enough)
    running[:] = 0
    for t in range(len(r.status)):
        if r.status[t] == RUNNING or r.busy_until[t] > r.now:
            until = r.end[t] if r.status[t] == RUNNING else r.busy_until[t]
            _hold(lanes, running, r.worker[t], until)
    for x in range(len(r.taken)):
        _hold(lanes, running, r.taken[x], r.taken_until[x])
    return lanes


@inner
def frozen_end(r: Rest) -> float:
    """The last end of what has begun; seconds."""
    last = 0.0
    for t in range(len(r.status)):
        if r.status[t] != WAITING:
            last = max(last, r.end[t])
    return last


class Solution(NamedTuple):
    """A placement of the rest, with what is needed to place it again from any turn on.

    Attributes:
        placed: (n,) arrays. before: (n,) the task before each one on its lane, or -1.
        free, last: the lanes before every `STRIDE`th turn; (turns, lanes).
        value: (turns, 2) makespan and seconds behind deadlines so far.
    """

    placed: Placement
    before: Ints
    free: Floats
    last: Ints
    value: Floats


@inner
def empty_solution(r: Rest, turns: int, lanes: Lanes) -> Solution:
    """Nothing placed yet of an order of so many turns; the first note is made."""
    n, notes = len(r.status), max(1, (turns + STRIDE - 1) // STRIDE)
    placed = Placement(
        np.zeros(n),
        np.zeros(n),
        np.full(n, -1, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
    )
    free = np.zeros((notes, len(lanes.free)))
    last = np.full((notes, len(lanes.free)), -1, dtype=np.int64)
    value = np.zeros((notes, 2))
    free[0], value[0, 0] = lanes.free, frozen_end(r)
    return Solution(placed, np.full(n, -1, dtype=np.int64), free, last, value)


@inlined
def _arrivals(p: Problem, r: Rest, t: int, placed: Placement, ready: Floats) -> None:
    """Write when task t could begin on each worker, as far as its inputs go."""
    w = len(ready)
    for b in range(w):
        ready[b] = r.earliest[t]
    for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
        q, nbytes = p.in_task[k], p.in_bytes[k]
        if r.status[q] == WAITING:
            a, done = placed.worker[q], placed.end[q]
            for b in range(w):
                there = done + (p.latency[a, b] + nbytes * p.per_byte[a, b])
                ready[b] = max(ready[b], there)
            continue
        a, done = r.home[q], max(r.now, r.end[q])
        unneeded = p.output_bytes[q] - nbytes if r.status[q] == ENDED else 0.0
        for b in range(w):
            there = r.present[q, b]
            if there == np.inf:
                there = done + (p.latency[a, b] + nbytes * p.per_byte[a, b])
            elif there > r.now:
                there -= unneeded * p.per_byte[a, b]
            ready[b] = max(ready[b], there)


@inlined
def _place_of(
    p: Problem, r: Rest, t: int, wanted: int, stick: float, lanes: Lanes, ready: Floats
) -> tuple[int, int]:
    """(worker, mode) where task t ends first, or on the wanted worker if it ends there at most
    `stick` seconds later; (-1, -1) if it can run nowhere."""
    best, chosen, chosen_mode = np.inf, -1, -1
    there, there_mode = np.inf, -1
    pinned, only_mode, left = r.pinned[t], r.fixed_mode[t], r.left[t]
    for b in range(len(ready)):
        if not r.alive[b] or (pinned >= 0 and pinned != b):
            continue
        begin = np.inf
        for x in range(lanes.ptr[b], lanes.ptr[b + 1]):
            begin = min(begin, lanes.free[x])
        begin = max(ready[b], begin)
        for m in range(p.mode_begin[t], p.mode_end[t]):
            seconds = p.seconds[m, b]
            if seconds == np.inf or (only_mode >= 0 and only_mode != m):
                continue
            close = begin + (left if left >= 0.0 else seconds)
            if close < best:
                best, chosen, chosen_mode = close, b, m
            if b == wanted and close < there:
                there, there_mode = close, m
    if there < np.inf and there <= best + stick:
        chosen, chosen_mode = wanted, there_mode
    return chosen, chosen_mode


@inlined
def _lane_of(lanes: Lanes, b: int, ready: float) -> int:
    """The lane of worker b that is free by then and was idle for the shortest time; if none is
    free, the one that is free first."""
    lane, idle = lanes.ptr[b], np.inf
    for x in range(lanes.ptr[b], lanes.ptr[b + 1]):
        gap = ready - lanes.free[x]
        if gap >= 0.0 and gap < idle:
            lane, idle = x, gap
        elif idle == np.inf and lanes.free[x] < lanes.free[lane]:
            lane = x
    return int(lane)


@inlined
def _note(s: Solution, turn: int, lanes: Lanes, makespan: float, late: float) -> None:
    """Note the lanes before this turn."""
    note = turn // STRIDE
    for x in range(len(lanes.free)):
        s.free[note, x], s.last[note, x] = lanes.free[x], lanes.last[x]
    s.value[note, 0], s.value[note, 1] = makespan, late


@inner
def place_turns(
    p: Problem,
    r: Rest,
    order: Ints,
    prefer: Ints,
    stick: float,
    first: int,
    limit: float,
    penalty: float,
    tail: Floats,
    lanes: Lanes,
    ready: Floats,
    s: Solution,
) -> tuple[float, float, int]:
    """Place the order from a noted turn on: (makespan, seconds late, turns that are placed).

    A task goes to its preferred worker if it ends there at most `stick` seconds after the best.
    Among the lanes of a worker it takes the one that was idle for the shortest time.

    Args:
        limit: stop as soon as makespan + penalty * lateness is bound to exceed it.
        tail: (n,) seconds that must follow a task's end.
    """
    p, r, lanes, placed = lent(p), lent(r), lent(lanes), lent(s.placed)
    lanes.free[:], lanes.last[:] = s.free[first // STRIDE], s.last[first // STRIDE]
    makespan, late = s.value[first // STRIDE, 0], s.value[first // STRIDE, 1]
    for turn in range(first, len(order)):
        if turn % STRIDE == 0:
            _note(s, turn, lanes, makespan, late)
        t = order[turn]
        _arrivals(p, r, t, placed, ready)
        b, m = _place_of(p, r, t, prefer[t], stick, lanes, ready)
        if b < 0:
            return np.inf, np.inf, turn + 1
        lane = _lane_of(lanes, b, ready[b])
        begin = max(ready[b], lanes.free[lane])
        close = begin + (r.left[t] if r.left[t] >= 0.0 else p.seconds[m, b])
        placed.start[t], placed.end[t], placed.worker[t], placed.mode[t] = begin, close, b, m
        s.before[t] = lanes.last[lane]
        if not lanes.enough[b]:
            lanes.free[lane], lanes.last[lane] = close, t
        makespan = max(makespan, close)
        late += max(0.0, close - p.deadline[t])
        if max(makespan, close + tail[t]) + penalty * late > limit:
            return np.inf, np.inf, turn + 1
    return makespan, late, len(order)


@compiled
def place_rest(
    p: Problem, r: Rest, order: Ints, prefer: Ints, stick: float
) -> tuple[float, float, Placement]:
    """Place the waiting tasks in this order: (makespan, seconds behind deadlines, where they are).

    Infinite where some task can run nowhere.

    Args:
        prefer: (n,) the worker that a task keeps if it ends there at most `stick` seconds later
            than anywhere else; -1 for none.
    """
    lanes = lanes_now(p, r, len(order))
    s = empty_solution(r, len(order), lanes)
    ready, tail = np.empty(len(p.worker_threads)), np.zeros(len(r.status))
    makespan, late, _ = place_turns(
        p, r, order, prefer, stick, 0, np.inf, 0.0, tail, lanes, ready, s
    )
    return makespan, late, s.placed
