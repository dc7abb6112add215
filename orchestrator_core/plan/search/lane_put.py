"""Putting tasks on lanes and taking them off again, the last first (stage 3)."""

from __future__ import annotations

from orchestrator_core.plan.engine.compiled import inlined, inner
from orchestrator_core.plan.search.lane_walk import Lanes, Placed

NOTHING, APPENDED, LEFT_A_GAP, NARROWED, SPLIT, FILLED = -1, 0, 1, 2, 3, 4
"""What putting a task on a lane did to its gaps; the third column of `Placed.log`."""


@inner
def put(lanes: Lanes, placed: Placed, x: int, t: int, lane: int, gap: int) -> None:
    """Put the placed task t on its lane, behind the last end or into a gap; note it at x."""
    placed.log[x, 0], placed.log[x, 1], placed.log[x, 4] = lane, gap, t
    if lane >= 0 and gap < 0:
        _append(lanes, placed, x, t, lane)
    elif lane >= 0:
        _insert(lanes, placed, x, t, lane, gap)


@inlined
def _append(lanes: Lanes, placed: Placed, x: int, t: int, lane: int) -> None:
    """Behind the last end; time that is skipped is a gap from now on, if there is room for it."""
    start, count = placed.start[t], lanes.gaps[lane]
    placed.old[x, 0], placed.log[x, 3] = lanes.last[lane], lanes.last_task[lane]
    placed.log[x, 2] = APPENDED
    if start > lanes.last[lane] and count < lanes.since.shape[1]:
        lanes.since[lane, count], lanes.until[lane, count] = lanes.last[lane], start
        lanes.before[lane, count] = lanes.last_task[lane]
        lanes.gaps[lane] = count + 1
        placed.log[x, 2] = LEFT_A_GAP
    lanes.last[lane], lanes.last_task[lane] = placed.end[t], t


@inlined
def _insert(lanes: Lanes, placed: Placed, x: int, t: int, lane: int, gap: int) -> None:
    """Into a gap, of which one, two or no parts are left."""
    since, until, before = lanes.since[lane], lanes.until[lane], lanes.before[lane]
    start, end, count = placed.start[t], placed.end[t], lanes.gaps[lane]
    placed.old[x, 0], placed.old[x, 1] = since[gap], until[gap]
    placed.log[x, 3] = before[gap]
    if start > since[gap] and (end >= until[gap] or count == len(since)):
        until[gap] = start
        placed.log[x, 2] = NARROWED
    elif start > since[gap]:
        for i in range(count, gap + 1, -1):
            since[i], until[i], before[i] = since[i - 1], until[i - 1], before[i - 1]
        since[gap + 1], until[gap + 1], before[gap + 1] = end, until[gap], t
        until[gap] = start
        lanes.gaps[lane] = count + 1
        placed.log[x, 2] = SPLIT
    elif end < until[gap]:
        since[gap], before[gap] = end, t
        placed.log[x, 2] = NARROWED
    else:
        for i in range(gap, count - 1):
            since[i], until[i], before[i] = since[i + 1], until[i + 1], before[i + 1]
        lanes.gaps[lane] = count - 1
        placed.log[x, 2] = FILLED


@inner
def take(lanes: Lanes, placed: Placed, x: int) -> None:
    """Take the task at position x, the last that was put, off its lane again."""
    lane, gap, what, task = placed.log[x, 0], placed.log[x, 1], placed.log[x, 2], placed.log[x, 3]
    if lane < 0:
        return
    if gap < 0:
        lanes.last[lane], lanes.last_task[lane] = placed.old[x, 0], task
        if what == LEFT_A_GAP:
            lanes.gaps[lane] -= 1
        return
    since, until, before = lanes.since[lane], lanes.until[lane], lanes.before[lane]
    count = lanes.gaps[lane]
    if what == SPLIT:
        for i in range(gap + 1, count - 1):
            since[i], until[i], before[i] = since[i + 1], until[i + 1], before[i + 1]
        lanes.gaps[lane] = count - 1
    elif what == FILLED:
        for i in range(count, gap, -1):
            since[i], until[i], before[i] = since[i - 1], until[i - 1], before[i - 1]
        lanes.gaps[lane] = count + 1
    since[gap], until[gap], before[gap] = placed.old[x, 0], placed.old[x, 1], task
