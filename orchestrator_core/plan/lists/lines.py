"""Lines: tasks of one independent group, waiting in line at each thread. Compiled (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner

SORTING = 8
"""Looks at a task in a line that it takes to sort it by its mean start."""


class Lines(NamedTuple):
    """A line for each lane, a thread of a worker.

    Attributes:
        seconds: (n, w) in the fastest mode. owner: (lanes,) the worker of each.
        ready: (n, lanes) when a task could start there. mean: (n,) of those where it may run.
        task: (lanes, group) in the order of `ready`. length: (lanes,) of the lines.
        free: (lanes,) when the first may start. finish: (lanes,) when the last ends.
    """

    seconds: Floats
    owner: Ints
    ready: Floats
    mean: Floats
    task: Ints
    length: Ints
    free: Floats
    finish: Floats


@inner
def end_of(lines: Lines, m: int, without: int, added: int) -> float:
    """When lane m ends its line, without one task and with another one (-1 for none)."""
    b, moment = lines.owner[m], lines.free[m]
    wanted = lines.ready[added, m] if added >= 0 else np.inf
    for x in range(lines.length[m]):
        t = lines.task[m, x]
        if t == without:
            continue
        if lines.ready[t, m] > wanted:
            moment = max(moment, lines.ready[added, m]) + lines.seconds[added, b]
            wanted = np.inf
        moment = max(moment, lines.ready[t, m]) + lines.seconds[t, b]
    if wanted < np.inf:
        moment = max(moment, lines.ready[added, m]) + lines.seconds[added, b]
    return float(moment)


@inner
def enter(lines: Lines, m: int, t: int) -> None:
    x = lines.length[m]
    while x > 0 and lines.ready[lines.task[m, x - 1], m] > lines.ready[t, m]:
        lines.task[m, x] = lines.task[m, x - 1]
        x -= 1
    lines.task[m, x] = t
    lines.length[m] += 1


@inner
def leave(lines: Lines, m: int, t: int) -> None:
    x = 0
    while lines.task[m, x] != t:
        x += 1
    lines.length[m] -= 1
    for y in range(x, lines.length[m]):
        lines.task[m, y] = lines.task[m, y + 1]


@inner
def balance(lines: Lines, looks: int) -> int:
    """Move tasks off the lane that ends last, as long as that helps; the looks that are left."""
    moved = True
    while moved and looks > 0:
        moved, last = False, int(np.argmax(lines.finish))
        waiting = lines.task[last, : lines.length[last]]
        looks -= SORTING * len(waiting)
        for x in np.argsort(lines.mean[waiting], kind="mergesort"):
            if looks <= 0:
                break
            t = waiting[x]
            looks -= lines.length[last]
            if end_of(lines, last, t, -1) >= lines.finish[last]:
                continue
            there, looks = _better_lane(lines, last, t, looks)
            if there >= 0:
                leave(lines, last, t)
                enter(lines, there, t)
                lines.finish[last] = end_of(lines, last, -1, -1)
                lines.finish[there] = end_of(lines, there, -1, -1)
                looks -= 2 * (lines.length[last] + lines.length[there])
                moved = True
                break
    return looks


@inner
def _better_lane(lines: Lines, last: int, t: int, looks: int) -> tuple[int, int]:
    """Where t would end its line earliest, if before the lane that ends last (-1: nowhere); the
    looks that are left."""
    best, least = -1, lines.finish[last]
    for m in range(len(lines.free)):
        if m == last or lines.seconds[t, lines.owner[m]] == np.inf:
            continue
        looks -= lines.length[m]
        there = end_of(lines, m, -1, t)
        if there < least:
            best, least = m, there
    return best, looks
