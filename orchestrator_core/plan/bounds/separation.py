"""Separation: the windows, rounded ones too, and paths that a split breaks. Compiled (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.choices import Choices
from orchestrator_core.plan.bounds.claims import (
    PATH,
    ROUNDED,
    WINDOW,
    Times,
    in_whole_tasks,
    rounding_of,
)
from orchestrator_core.plan.engine.compiled import inner

MOST_SINCE = 64
"""Heads of one worker among which windows are sought; more are thinned out."""

MOST_WINDOWS = 3
"""Windows of one kind and worker that are added at a time."""

MOST_PATHS = 12
"""Paths that are added at a time."""

MOST_UNITS = 32
"""Durations by which one window is rounded on trial; more are thinned out."""

MOST_TO_ONE = 0.01
"""Part of the longest duration below which none is tried: of so short ones many fit."""

NOTHING = 1e-9
"""A part of a task that is none."""


class Broken(NamedTuple):
    """What counts as broken: more than `makespan` seconds by more than `slack`."""

    makespan: float
    slack: float


@inner
def add_windows(
    choices: Choices, times: Times, x: Floats, broken: Broken, what: Ints, span: Floats, count: int
) -> int:
    """Append the windows that the split x breaks most to `count` claims; how many it is then."""
    for b in range(times.work.shape[2]):
        here = np.flatnonzero((choices.worker == b) & (x > NOTHING))
        if len(here) == 0:
            continue
        tasks = choices.task[here]
        heads, tails = times.head[tasks, b], times.tail[tasks, b]
        since = np.unique(heads)
        if len(since) > MOST_SINCE:
            since = since[np.linspace(0, len(since) - 1, MOST_SINCE).astype(np.int64)]
        for kind in range(times.work.shape[0]):
            load = times.work[kind, tasks, b] * x[here]
            until, excess = _fullest(since, heads, tails, load, broken.makespan, times.known)
            for z in np.argsort(-excess)[:MOST_WINDOWS]:
                if excess[z] > broken.slack and count < len(what):
                    what[count, 0], what[count, 1], what[count, 2] = WINDOW, kind, b
                    span[count, 0], span[count, 1], span[count, 2] = since[z], until[z], 0.0
                    count += 1
    return count


@inner
def _fullest(
    since: Floats, heads: Floats, tails: Floats, load: Floats, makespan: float, known: float
) -> tuple[Floats, Floats]:
    """For each start the end of its fullest window, and by how much that is too full."""
    by_tail = np.argsort(-tails)
    until, excess = np.zeros(len(since)), np.zeros(len(since))
    for z in range(len(since)):
        total = 0.0
        for i in by_tail:
            if heads[i] >= since[z]:
                total += load[i]
                over = total + min(since[z] + tails[i], known) - makespan
                if over > excess[z]:
                    excess[z], until[z] = over, tails[i]
    return until, excess


@inner
def add_paths(
    choices: Choices, times: Times, x: Floats, broken: Broken, what: Ints, span: Floats, count: int
) -> int:
    """Append the paths that the split x makes too long."""
    n = len(choices.first) - 1
    excess = np.zeros(n)
    for t in range(n):
        for v in range(choices.first[t], choices.first[t + 1]):
            excess[t] += x[v] * times.through[choices.task[v], choices.worker[v]]
    excess -= broken.makespan
    for t in np.argsort(-excess)[:MOST_PATHS]:
        if excess[t] > broken.slack and count < len(what):
            what[count, 0], what[count, 1], what[count, 2] = PATH, choices.task[choices.first[t]], 0
            span[count] = 0.0
            count += 1
    return count


@inner
def add_rounded(
    choices: Choices, times: Times, x: Floats, broken: Broken, what: Ints, span: Floats, count: int
) -> int:
    """Append, for each worker, the one of the windows among the claims that the split x breaks most
    if it is rounded, and the duration by which it is."""
    windows = count
    for b in range(times.work.shape[2]):
        here = np.flatnonzero((choices.worker == b) & (x > NOTHING))
        tasks = choices.task[here]
        most = broken.makespan + broken.slack - times.known
        for k in range(windows):
            if what[k, 0] != WINDOW or what[k, 2] != b or count == len(what):
                continue
            inside = (times.head[tasks, b] >= span[k, 0]) & (times.tail[tasks, b] >= span[k, 1])
            load, part = times.work[what[k, 1], tasks[inside], b], x[here[inside]]
            unit, excess = _best_unit(times.known, span[k, 0], span[k, 1], load, part)
            if excess > most:
                what[count, 0], what[count, 1], what[count, 2] = ROUNDED, what[k, 1], b
                span[count, 0], span[count, 1], span[count, 2] = span[k, 0], span[k, 1], unit
                most = excess
        if most > broken.makespan + broken.slack - times.known:
            count += 1
    return count


@inner
def _best_unit(
    known: float, since: float, until: float, load: Floats, x: Floats
) -> tuple[float, float]:
    """The duration by which a window with these loads is rounded best, and by how much parts `x` of
    them then exceed what is known."""
    units = np.unique(load[load > MOST_TO_ONE * load.max()]) if len(load) else load
    if len(units) > MOST_UNITS:
        units = units[np.linspace(0, len(units) - 1, MOST_UNITS).astype(np.int64)]
    best, most = 0.0, 0.0
    for unit in units:
        by = rounding_of(known, since, until, unit)
        excess = -unit * (1.0 - by.part) * by.whole
        for i in range(len(load)):
            excess += x[i] * in_whole_tasks(load[i], by)
        if excess > most:
            best, most = unit, excess
    return best, most
