"""Occupancy of workers over time as step functions: the ground that the general kernel builds on.

A worker's profile is a row of steps: when something changes, and what is taken from then on. Column
0 counts threads, column 1 bytes of memory, the others resources. The last step lasts for ever.
All profiles share one pool of steps, in which a profile that is full moves to a larger block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner

_BLOCK = 16


class Profiles(NamedTuple):
    """The profiles of w workers in a pool of s steps; d columns.

    Attributes:
        times: (s,) seconds. taken: (s, d). limit: (w, d) what may be taken.
        base, size, room: (w,) the steps of worker b are ``base[b]`` to ``base[b] + size[b]``, in a
            block of ``room[b]``.
        pool: (2,) the first step that no block holds, and 1 once the pool was too small: from then
            on the profiles are worthless.
    """

    times: Floats
    taken: Floats
    limit: Floats
    base: Ints
    size: Ints
    room: Ints
    pool: Ints


def idle_profiles(limit: Floats, steps: int) -> Profiles:
    """Profiles of idle workers, in a pool for about `steps` steps."""
    w, columns = limit.shape
    steps = max(steps, 2 * w * _BLOCK)
    return Profiles(
        np.zeros(steps),
        np.zeros((steps, columns)),
        limit,
        np.arange(w, dtype=np.int64) * _BLOCK,
        np.ones(w, dtype=np.int64),
        np.full(w, _BLOCK, dtype=np.int64),
        np.array([w * _BLOCK, 0], dtype=np.int64),
    )


@inner
def clear(f: Profiles) -> None:
    """All workers idle again."""
    for b in range(len(f.base)):
        f.base[b], f.size[b], f.room[b] = b * _BLOCK, 1, _BLOCK
        f.times[b * _BLOCK] = 0.0
        for d in range(f.taken.shape[1]):
            f.taken[b * _BLOCK, d] = 0.0
    f.pool[0], f.pool[1] = len(f.base) * _BLOCK, 0


@inner
def step_at(f: Profiles, b: int, moment: float) -> int:
    """The last step of worker b, counted in the pool, that begins at or before `moment` >= 0."""
    low: int = f.base[b]
    high: int = low + f.size[b]
    while high - low > 1:
        middle = (low + high) // 2
        if f.times[middle] <= moment:
            low = middle
        else:
            high = middle
    return low


@inner
def _split(f: Profiles, b: int, moment: float) -> None:
    """Make a step of worker b begin at `moment`, if none does."""
    if f.times[step_at(f, b, moment)] == moment:
        return
    if f.size[b] == f.room[b]:
        free = f.pool[0]
        if free + 2 * f.room[b] > len(f.times):
            f.pool[1] = 1
            return
        for i in range(f.size[b]):
            f.times[free + i] = f.times[f.base[b] + i]
            for d in range(f.taken.shape[1]):
                f.taken[free + i, d] = f.taken[f.base[b] + i, d]
        f.base[b] = free
        f.room[b] *= 2
        f.pool[0] += f.room[b]
    at = step_at(f, b, moment) + 1
    for i in range(f.base[b] + f.size[b], at, -1):
        f.times[i] = f.times[i - 1]
        for d in range(f.taken.shape[1]):
            f.taken[i, d] = f.taken[i - 1, d]
    f.times[at] = moment
    for d in range(f.taken.shape[1]):
        f.taken[at, d] = f.taken[at - 1, d]
    f.size[b] += 1


@inner
def occupy(f: Profiles, b: int, start: float, end: float, amounts: Floats) -> None:
    """Take (d,) amounts from `start` to `end` (infinity for ever); negative ones are given back."""
    if end <= start:
        return
    _split(f, b, start)
    if end < np.inf:
        _split(f, b, end)
    i = step_at(f, b, start)
    while i < f.base[b] + f.size[b] and f.times[i] < end:
        for d in range(len(amounts)):
            f.taken[i, d] += amounts[d]
        i += 1


@inner
def first_fit(f: Profiles, b: int, ready: float, seconds: float, need: Floats) -> float:
    """The first start from `ready` on at which `need` fits for `seconds`; infinity if none is."""
    if seconds <= 0.0:
        return ready
    i, past, begin = step_at(f, b, ready), f.base[b] + f.size[b], ready
    while True:
        fits = True
        for d in range(len(need)):
            if need[d] > 0.0 and f.taken[i, d] + need[d] > f.limit[b, d]:
                fits = False
        close = f.times[i + 1] if i + 1 < past else np.inf
        if not fits:
            if close == np.inf:
                return close
            begin = close
        elif close >= begin + seconds:
            return begin
        i += 1


@inner
def holds_fit(f: Profiles, b: int, moments: Floats, changes: Floats, count: int) -> bool:
    """Does the memory of worker b take these changes, each from its moment on for ever?

    Args:
        moments, changes: `count` of them count, in any order; a hold is an amount at its begin and
            the same, negative, at its end. They are sorted in place.
    """
    _sort(moments, changes, count)
    j, moment, extra = 0, moments[0], 0.0
    i, past = step_at(f, b, moment), f.base[b] + f.size[b]
    while True:
        while j < count and moments[j] <= moment:
            extra += changes[j]
            j += 1
        while i + 1 < past and f.times[i + 1] <= moment:
            i += 1
        if extra > 0.0 and f.taken[i, 1] + extra > f.limit[b, 1]:
            return False
        after = f.times[i + 1] if i + 1 < past else np.inf
        if j < count and moments[j] < after:
            after = moments[j]
        if after == np.inf:
            return True
        moment = after


@inner
def _sort(keys: Floats, values: Floats, count: int) -> None:
    """Shell sort by key: small code, in place, and most rows are short."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            key, value, j = keys[i], values[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], values[j] = keys[j - gap], values[j - gap]
                j -= gap
            keys[j], values[j] = key, value
        gap //= 2
