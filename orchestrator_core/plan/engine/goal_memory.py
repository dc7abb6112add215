"""The most bytes that a placement takes on any worker, compiled (see `goal.py`)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner
from orchestrator_core.plan.engine.expand import Problem


@inner
def peak(p: Problem, start: Floats, end: Floats, worker: Ints, mode: Ints) -> float:
    """The most bytes on any worker at any moment."""
    n, w = len(end), len(p.worker_threads)
    most = 2 * n + len(p.out_task)
    place = np.empty(2 * most, dtype=np.int64)
    moment, change = np.empty(2 * most), np.empty(2 * most)
    x = 0
    arrival, final = np.empty(w), np.empty(w)
    near = np.empty(w, dtype=np.int64)
    for t in range(n):
        a, nbytes = worker[t], p.output_bytes[t]
        x = _claim(place, moment, change, x, a, start[t], end[t], p.memory[mode[t]])
        here, count, sent = end[t], 0, end[t]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            c = p.out_task[k]
            b = worker[c]
            if b == a:
                here = max(here, end[c])
                continue
            i = 0
            while i < count and near[i] != b:
                i += 1
            if i == count:
                encoded = end[t] + nbytes * p.encode[a, b]
                sent = max(sent, encoded)
                near[i], final[i] = b, 0.0
                arrival[i] = encoded + p.latency[a, b] + nbytes * p.per_byte[a, b]
                count += 1
            arrival[i], final[i] = min(arrival[i], start[c]), max(final[i], end[c])
        x = _claim(place, moment, change, x, a, end[t], max(here, sent), nbytes)
        for i in range(count):
            x = _claim(place, moment, change, x, near[i], arrival[i], final[i], nbytes)
    return _highest(place[:x], moment[:x], change[:x], w)


@inner
def _claim(
    place: Ints, moment: Floats, change: Floats, x: int, b: int, since: float, until: float,
    nbytes: float,
) -> int:  # fmt: skip
    """Note bytes on worker b at the place x; the next free place."""
    # What is shorter than rounding takes nothing, as in `check_schedule`.
    if nbytes > 0.0 and until - 1e-9 * max(1.0, until) > since:
        place[x], moment[x], change[x] = b, since, nbytes
        place[x + 1], moment[x + 1], change[x + 1] = b, until - 1e-9 * max(1.0, until), -nbytes
        x += 2
    return x


@inner
def _highest(place: Ints, moment: Floats, change: Floats, w: int) -> float:
    """The highest level of any worker when the changes happen in the order of their moments."""
    level, highest = np.zeros(w), 0.0
    for x in np.argsort(moment, kind="mergesort"):
        level[place[x]] += change[x]
        highest = max(highest, level[place[x]])
    return highest
