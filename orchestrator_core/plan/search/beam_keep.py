"""Which steps of a beam are taken, compiled."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.search.beam_mix import mixed
from orchestrator_core.plan.search.beam_side import Side
from orchestrator_core.plan.search.beam_state import Partials, Steps

GRAINS = 1e9
"""Two times within the same of so many parts of the limit are the same to `_look`."""


@inner
def _look(side: Side, parts: Partials, steps: Steps, i: int, grain: float) -> np.uint64:
    """The same number for steps after which the same tasks are placed and the same kinds of workers
    are free at the same times."""
    b, t, w = steps.parent[i], steps.task[i], steps.worker[i]
    seconds = side.seconds[t, w]
    look = mixed(np.uint64(steps.tasks[i]))
    for v in range(len(side.price)):
        for x in range(side.first[v], side.first[v + 1]):
            free = parts.free[b, x]
            if v == w and x == side.first[w] and seconds > 0.0:
                free = steps.start[i] + seconds
            key = np.int64(free / grain) * 1_000_003 + side.kind[v]
            look += mixed(np.uint64(key))
    return look | np.uint64(1)


@inner
def _slot(table: np.ndarray, key: np.uint64) -> int:
    """Where a key is in a table of twice as many places, or the empty place for it."""
    mask = len(table) - 1
    at = np.int64(mixed(key) & np.uint64(mask))
    while table[at] != 0 and table[at] != key:
        at = (at + 1) & mask
    return int(at)


@compiled
def choose(
    side: Side, parts: Partials, steps: Steps, order: Ints, width: int, twins: int, limit: float
) -> Ints:
    """The first steps of the order that are taken: at most `width`, of them `twins` that place the
    same set of tasks, and one of those that look the same."""
    side, parts, steps = lent(side), lent(parts), lent(steps)
    size = 4
    while size < 2 * width + 2:
        size *= 2
    sets, times = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int64)
    looks = np.zeros(size, dtype=np.uint64)
    kept, many, grain = np.empty(width, dtype=np.int64), 0, limit / GRAINS
    for i in order:
        if many == width:
            break
        here = _slot(sets, np.uint64(steps.tasks[i]) | np.uint64(1 << 63))
        if times[here] >= twins:
            continue
        look = _look(side, parts, steps, i, grain)
        there = _slot(looks, look)
        if looks[there] == look:
            continue
        looks[there] = look
        sets[here] = np.uint64(steps.tasks[i]) | np.uint64(1 << 63)
        times[here] += 1
        kept[many] = i
        many += 1
    return kept[:many]


@compiled
def take(side: Side, parts: Partials, steps: Steps, kept: Ints, into: Partials) -> None:
    """Write the partial schedules after the steps."""
    side, parts, steps, into = lent(side), lent(parts), lent(steps), lent(into)
    for i in range(len(kept)):
        step = kept[i]
        b, t, w = steps.parent[step], steps.task[step], steps.worker[step]
        start, seconds = steps.start[step], side.seconds[t, w]
        into.missing[i], into.worker[i], into.end[i] = (
            parts.missing[b], parts.worker[b], parts.end[b],
        )  # fmt: skip
        into.free[i] = parts.free[b]
        into.missing[i, t] = -1
        for k in range(side.out_ptr[t], side.out_ptr[t + 1]):
            into.missing[i, side.out_task[k]] -= 1
        into.worker[i, t], into.end[i, t] = w, start + seconds
        if seconds > 0.0:
            _occupy(into.free[i], side.first[w], side.first[w + 1], start + seconds)
        into.now[i] = max(parts.now[b], start)
        into.waste[i], into.tasks[i] = steps.waste[step], steps.tasks[step]


@inner
def _occupy(free: np.ndarray, first: int, last: int, end: float) -> None:
    """The first thread from `first` up to `last` is free at `end`; they stay in order."""
    x = first
    while x + 1 < last and free[x + 1] < end:
        free[x] = free[x + 1]
        x += 1
    free[x] = end
