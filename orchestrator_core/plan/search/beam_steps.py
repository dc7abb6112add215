"""The steps from partial schedules, compiled: what can start next, and what that is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner, lent
from orchestrator_core.plan.search.beam_mix import chance
from orchestrator_core.plan.search.beam_side import Side
from orchestrator_core.plan.search.beam_state import Partials, Steps

ROUNDING = 1e-12
"""Relative difference of two times that are taken to be equal."""


class Taste(NamedTuple):
    """What a beam goes by.

    Attributes:
        limit: seconds by which all must have ended.
        crowding: what counts beside waste: tasks of which there is hardly time left for all those
            with as much after them, in parts of their worth.
        ease: seconds of such time that make a task count a quarter.
        chance: seconds by which ranks differ at random, the same for the same set of tasks.
        salt: another one makes other random numbers.
    """

    limit: float
    crowding: float
    ease: float
    chance: float
    salt: int


class Desk(NamedTuple):
    """Room for what is reckoned of one partial schedule.

    Attributes:
        start: (n, w) when each task that is ready could start on each worker.
        ready: (n,) those tasks. free: (l,) when threads are free after a step.
        open: (k,) worth of the tasks that are not placed and have at least so much after them.
    """

    start: Floats
    ready: Ints
    free: Floats
    open: Floats


@inner
def _start(side: Side, parts: Partials, b: int, t: int, w: int) -> float:
    """When task t could start on worker w; nothing that takes no time waits for a thread."""
    start = side.earliest[t]
    if side.seconds[t, w] > 0.0:
        start = max(start, parts.free[b, side.first[w]])
    for k in range(side.in_ptr[t], side.in_ptr[t + 1]):
        u = side.in_task[k]
        a = parts.worker[b, u]
        there = parts.end[b, u] + side.latency[a, w] + side.in_bytes[k] * side.per_byte[a, w]
        if there > start:
            start = there
    return float(start)


@inner
def _find_ready(side: Side, parts: Partials, b: int, limit: float, desk: Desk) -> int:
    """Write what is ready and when; how many tasks, or -1 if one of them would be too late."""
    ready = 0
    desk.open[:] = 0.0
    for t in range(len(side.level)):
        missing = parts.missing[b, t]
        if missing < 0:
            continue
        desk.open[side.level[t]] += side.worth[t]
        if missing > 0:
            continue
        soonest = np.inf
        for w in range(len(side.price)):
            desk.start[t, w] = np.inf
            if side.seconds[t, w] < np.inf:
                desk.start[t, w] = _start(side, parts, b, t, w)
                end = max(desk.start[t, w], parts.now[b]) + side.seconds[t, w] + side.after[t, w]
                soonest = min(soonest, end)
        if soonest > limit:
            return -1
        desk.ready[ready] = t
        ready += 1
    for level in range(len(side.need) - 2, -1, -1):
        desk.open[level] += desk.open[level + 1]
    return ready


@inner
def _idle(side: Side, parts: Partials, b: int, t: int, w: int, start: float, desk: Desk) -> float:
    """What threads lose that others wait for, from then on; write when each is free then."""
    lost, seconds = 0.0, side.seconds[t, w]
    for v in range(len(side.price)):
        for x in range(side.first[v], side.first[v + 1]):
            free = parts.free[b, x]
            if v == w and x == side.first[w] and seconds > 0.0:
                desk.free[x] = start + seconds
                continue
            if free < start:
                lost += side.price[v] * (start - free)
                free = start
            desk.free[x] = free
    return lost


@inner
def _crowded(side: Side, taste: Taste, t: int, desk: Desk) -> float:
    """What crowding counts after the step; infinity if there is not time for all."""
    crowded, before = 0.0, 0.0
    for level in range(len(side.need) - 1, -1, -1):
        worth = desk.open[level] - (side.worth[t] if side.level[t] >= level else 0.0)
        room, until = 0.0, taste.limit - side.need[level]
        for v in range(len(side.price)):
            for x in range(side.first[v], side.first[v + 1]):
                if desk.free[x] < until:
                    room += side.price[v] * (until - desk.free[x])
        left = room - worth
        if left < -ROUNDING * taste.limit:
            return np.inf
        part = taste.ease / (taste.ease + max(left, 0.0))
        crowded += (worth - before) * part * part
        before = worth
    return crowded


@compiled
def find_steps(
    side: Side,
    parts: Partials,
    first: int,
    many: int,
    taste: Taste,
    worst: float,
    desk: Desk,
    steps: Steps,
    found: int,
    enough: int,
) -> tuple[int, int]:
    """Write the steps from `many` partial schedules after the first `first` that may be part of a
    schedule within the limit and rank below `worst`, until there are `enough` or no room is left.

    Returns:
        The number of the next partial schedule, and how many steps there are with those found.
    """
    side, parts, steps, desk = lent(side), lent(parts), lent(steps), lent(desk)
    limit, little = taste.limit, ROUNDING * taste.limit
    spare = limit - side.worth.sum() + little
    until = min(first + many, len(parts.now))
    most = len(side.level) * len(side.price)
    for b in range(first, until):
        if found > enough or found + most > len(steps.rank):
            return b, found
        for i in range(_find_ready(side, parts, b, limit + little, desk)):
            t = desk.ready[i]
            tasks = parts.tasks[b] ^ side.code[t]
            for w in range(len(side.price)):
                start, seconds = desk.start[t, w], side.seconds[t, w]
                # By start, so that none is made twice; what takes no time is in nobody's way.
                if start < parts.now[b] - little and seconds > 0.0:
                    continue
                if not start + seconds + side.after[t, w] <= limit + little:
                    continue
                waste = parts.waste[b] + side.price[w] * seconds - side.worth[t]
                if seconds > 0.0:
                    idle = start - parts.free[b, side.first[w]]
                    waste += side.price[w] * max(0.0, idle)
                rank = waste + _idle(side, parts, b, t, w, start, desk)
                if rank > spare or rank > worst:
                    continue
                crowded = _crowded(side, taste, t, desk)
                if crowded == np.inf:
                    continue
                rank += taste.crowding * crowded + taste.chance * chance(tasks, taste.salt)
                if rank > worst:
                    continue
                steps.parent[found], steps.task[found], steps.worker[found] = b, t, w
                steps.start[found], steps.waste[found] = start, waste
                steps.tasks[found], steps.rank[found] = tasks, rank
                found += 1
    return until, found
