"""Separation: the windows and paths that a split of the tasks breaks. Compiled (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.claims import PATH, WINDOW
from orchestrator_core.plan.engine.compiled import inner

MOST_SINCE = 64
"""Heads of one worker among which windows are sought; more are thinned out."""


@inner
def add_windows(
    task: Ints,
    worker: Ints,
    x: Floats,
    work: Floats,
    head: Floats,
    tail: Floats,
    known: float,
    makespan: float,
    slack: float,
    most: int,
    what: Ints,
    span: Floats,
    count: int,
) -> int:
    """Append the windows that the split x breaks most, `most` of each kind and worker."""
    kinds, w = work.shape[0], work.shape[2]
    for b in range(w):
        here = np.flatnonzero((worker == b) & (x > 1e-9))
        if len(here) == 0:
            continue
        many = len(here)
        heads, tails, load = np.empty(many), np.empty(many), np.empty(many)
        for i in range(many):
            heads[i], tails[i] = head[task[here[i]], b], tail[task[here[i]], b]
        by_tail = np.argsort(-tails)
        since = np.unique(heads)
        if len(since) > MOST_SINCE:
            since = since[np.linspace(0, len(since) - 1, MOST_SINCE).astype(np.int64)]
        for kind in range(kinds):
            for i in range(many):
                load[i] = work[kind, task[here[i]], b] * x[here[i]]
            excess, until = np.zeros(len(since)), np.zeros(len(since))
            for z in range(len(since)):
                total = 0.0
                for i in by_tail:
                    if heads[i] >= since[z]:
                        total += load[i]
                        over = total + min(since[z] + tails[i], known) - makespan
                        if over > excess[z]:
                            excess[z], until[z] = over, tails[i]
            best = np.argsort(-excess)
            for z in best[:most]:
                if excess[z] > slack and count < len(what):
                    what[count] = np.array([WINDOW, kind, b])
                    span[count, 0], span[count, 1] = since[z], until[z]
                    count += 1
    return count


@inner
def add_paths(
    first: Ints,
    task: Ints,
    worker: Ints,
    x: Floats,
    through: Floats,
    makespan: float,
    slack: float,
    most: int,
    what: Ints,
    span: Floats,
    count: int,
) -> int:
    """Append the paths that the split x makes too long, at most `most`."""
    n = len(first) - 1
    excess = np.zeros(n)
    for t in range(n):
        for v in range(first[t], first[t + 1]):
            excess[t] += x[v] * through[task[v], worker[v]]
    excess -= makespan
    for t in np.argsort(-excess)[:most]:
        if excess[t] > slack and count < len(what):
            what[count] = np.array([PATH, task[first[t]], 0])
            span[count] = 0.0
            count += 1
    return count
