"""The threads of workers as lanes, with the idle gaps on them (see `lanes.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inlined, inner
from orchestrator_core.plan.engine.expand import Problem

GAPS = 16
"""Idle gaps of a lane that there is room for at first."""


class Lanes(NamedTuple):
    """l lanes with room for g gaps each.

    Attributes:
        ptr: (w + 1,) lanes of worker b are ``ptr[b]`` up to, not including, ``ptr[b + 1]``.
        last: (l,) the last end. gaps: (l,) how many. since, until: (l, g) seconds, sorted.
        ready, latest: (w,) when a task could begin, and the latest start so far.
    """

    ptr: Ints
    last: Floats
    gaps: Ints
    since: Floats
    until: Floats
    ready: Floats
    latest: Floats


@inner
def idle_lanes(p: Problem, tasks: int) -> Lanes:
    w = len(p.worker_threads)
    ptr = np.zeros(w + 1, dtype=np.int64)
    for b in range(w):
        ptr[b + 1] = ptr[b] + min(p.worker_threads[b], max(1, tasks))
    count = ptr[w]
    since, until = np.empty((count, GAPS)), np.empty((count, GAPS))
    gaps = np.zeros(count, dtype=np.int64)
    return Lanes(ptr, np.zeros(count), gaps, since, until, np.empty(w), np.zeros(w))


@inner
def wider(lanes: Lanes) -> Lanes:
    """The same lanes with room for twice as many gaps."""
    count, room = lanes.since.shape
    since, until = np.empty((count, 2 * room)), np.empty((count, 2 * room))
    since[:, :room], until[:, :room] = lanes.since, lanes.until
    return Lanes(lanes.ptr, lanes.last, lanes.gaps, since, until, lanes.ready, lanes.latest)


@inlined
def _gap_of(lanes: Lanes, x: int, ready: float, seconds: float) -> int:
    """The first gap of lane x that holds `seconds` from `ready` on, or -1."""
    count = lanes.gaps[x]
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if lanes.until[x, middle] > ready:
            high = middle
        else:
            low = middle + 1
    for gap in range(low, count):
        if max(ready, lanes.since[x, gap]) + seconds <= lanes.until[x, gap]:
            return gap
    return -1


@inlined
def lane_of(
    lanes: Lanes, b: int, earliest: float, seconds: float, insertion: bool
) -> tuple[float, int, int]:
    """(start, lane, gap or -1) of worker b where the task starts first; among equal starts, the
    lane that was idle for the shortest time."""
    begin, lane, gap, idle = np.inf, -1, -1, np.inf
    for x in range(lanes.ptr[b], lanes.ptr[b + 1]):
        hole, since = -1, lanes.last[x]
        if insertion and since > earliest and lanes.gaps[x] > 0:
            hole = _gap_of(lanes, x, earliest, seconds)
            if hole >= 0:
                since = lanes.since[x, hole]
        at = max(earliest, since)
        if at < begin or (at == begin and at - since < idle):
            begin, lane, gap, idle = at, x, hole, at - since
    return begin, lane, gap


@inlined
def append(lanes: Lanes, x: int, start: float, end: float, insertion: bool) -> None:
    """Behind the last end; time that is skipped is a gap from now on."""
    if insertion and start > lanes.last[x]:
        count = lanes.gaps[x]
        lanes.since[x, count], lanes.until[x, count] = lanes.last[x], start
        lanes.gaps[x] = count + 1
    lanes.last[x] = end


@inlined
def insert(lanes: Lanes, x: int, gap: int, start: float, end: float) -> None:
    """Into a gap, of which two, one or no parts are left."""
    since, until, count = lanes.since[x], lanes.until[x], lanes.gaps[x]
    before, after = start > since[gap], end < until[gap]
    if before and after:
        for i in range(count, gap + 1, -1):
            since[i], until[i] = since[i - 1], until[i - 1]
        since[gap + 1], until[gap + 1], until[gap] = end, until[gap], start
        lanes.gaps[x] = count + 1
    elif before:
        until[gap] = start
    elif after:
        since[gap] = end
    else:
        for i in range(gap, count - 1):
            since[i], until[i] = since[i + 1], until[i + 1]
        lanes.gaps[x] = count - 1
