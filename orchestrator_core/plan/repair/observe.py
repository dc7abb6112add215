"""What is left of a run: compiled passes over what was planned and what was told (repair).

What nobody reports is taken to have gone exactly as planned if it can have: its inputs were there
by its planned start, and its worker had the threads. Otherwise it has not begun. Unless the plan is
itself a repair: what cannot be by the plan's own times was seen, and written down as it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inner
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.repair.rest import ENDED, RUNNING, WAITING, Sends

TOLD = 1
"""In `known`: an event says when and where the task ran; 0: nobody says anything."""

ANYONE = -1
"""Of sources: whichever worker sent it."""


@inner
def unneeded(p: Problem, k: int, a: int, b: int) -> float:
    """Seconds by which the part that edge k waits for is there before the whole output."""
    if a >= len(p.worker_threads):
        return 0.0
    return float((p.output_bytes[p.in_task[k]] - p.in_bytes[k]) * p.per_byte[a, b])


@inner
def _lanes(p: Problem, order: Ints, worker: Ints, mode: Ints) -> Ints:
    """(w + 1,) where the lanes of each worker begin: one for each thread, or none where there are
    enough for all of these tasks at once."""
    w = len(p.worker_threads)
    ptr, need = np.zeros(w + 1, dtype=np.int64), np.zeros(w, dtype=np.int64)
    for t in order:
        if worker[t] < w:
            need[worker[t]] += p.threads[mode[t]]
    for b in range(w):
        ptr[b + 1] = ptr[b] + (p.worker_threads[b] if p.worker_threads[b] < need[b] else 0)
    return ptr


@inner
def _chains(sends: Sends, n: int) -> tuple[Ints, Ints]:
    """(n,) the newest send of each output, and (s,) the one before each; -1 where there is none."""
    newest, older = np.full(n, -1, dtype=np.int64), np.zeros(len(sends.unit), dtype=np.int64)
    for x in range(len(sends.unit)):
        older[x], newest[sends.unit[x]] = newest[sends.unit[x]], x
    return newest, older


@inner
def _is_idle(p: Problem, ptr: Ints, free: Floats, b: int, need: int, then: float) -> bool:
    """Has worker b as many idle threads by then? One that is not there any more had them."""
    if b >= len(p.worker_threads) or ptr[b] == ptr[b + 1]:
        return True
    idle = 0
    for x in range(ptr[b], ptr[b + 1]):
        if free[x] <= then:
            idle += 1
    return idle >= need


@inner
def _occupy(p: Problem, ptr: Ints, free: Floats, b: int, need: int, end: float) -> None:
    """Let the threads of worker b that are idle first be busy until the end."""
    if b >= len(p.worker_threads):
        return
    for _ in range(min(need, ptr[b + 1] - ptr[b])):
        lane = ptr[b]
        for x in range(ptr[b], ptr[b + 1]):
            if free[x] < free[lane]:
                lane = x
        free[lane] = max(free[lane], end)


@inner
def _arrival(
    p: Problem, sends: Sends, newest: int, older: Ints, k: int, source: int, b: int, end: float
) -> float:
    """When what edge k waits for has come to worker b from a source, by its first planned send;
    infinite if none is planned. A producer that ends later than planned delays it."""
    x, there = newest, np.inf
    while x >= 0:
        a = sends.source[x]
        if sends.destination[x] == b and source in (ANYONE, a):
            there = sends.arrived[x] + max(0.0, end - sends.sent[x]) - unneeded(p, k, a, b)
        x = older[x]
    return there


@compiled
def begun_tasks(
    p: Problem,
    now: float,
    slack: float,
    order: Ints,
    known: Ints,
    since: Floats,
    end: Floats,
    worker: Ints,
    mode: Ints,
    sends: Sends,
    source: Ints,
    seen: NDArray[np.bool_],
    learn: bool,
    status: Ints,
) -> None:
    """Set the status of every task that has begun.

    Args:
        order: tasks that may have begun, by their start.
        since, end, worker, mode: (n,) as told, or else as planned; `since` is the start, or that of
            the last piece that has begun.
        sends: as planned; each is taken to begin no sooner than its output is made.
        source: (n,) the only worker from which an output can have been sent, or ANYONE.
        seen: (n,) tasks that have begun as planned, whatever speaks against it.
        learn: take what cannot be as planned to have been seen, and set `seen`.
    """
    ptr = _lanes(p, order, worker, mode)
    free = np.zeros(ptr[-1])
    newest, older = _chains(sends, len(status))
    for t in order:
        b = worker[t]
        if known[t] != TOLD and not seen[t]:
            as_planned = _is_idle(p, ptr, free, b, p.threads[mode[t]], since[t] + slack)
            for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
                q = p.in_task[k]
                if status[q] == WAITING:
                    as_planned = False
                elif worker[q] == b:
                    as_planned &= end[q] <= since[t] + slack
                elif b < len(p.worker_threads):
                    there = _arrival(p, sends, newest[q], older, k, source[q], b, end[q])
                    as_planned &= there <= since[t] + slack
            if not as_planned and not learn:
                continue
            seen[t] = not as_planned
        status[t] = ENDED if end[t] <= now else RUNNING
        _occupy(p, ptr, free, b, p.threads[mode[t]], end[t])


@compiled
def copies_of_inputs(
    p: Problem,
    status: Ints,
    start: Floats,
    end: Floats,
    worker: Ints,
    sends: Sends,
    present: Floats,
) -> None:
    """Every output is where it was made, and at each worker where a task that uses all of it has
    begun.

    Args:
        sends: transfers that have begun.
        present: (n, w) infinity; filled. A task that waits for a part shows nothing: the rest may
            be under way, or have gone down with its sender. Nor does a task show anything of an
            output that was made again after it had begun.
    """
    for x in range(len(sends.unit)):
        present[sends.unit[x], sends.destination[x]] = sends.arrived[x]
    for t in range(len(status)):
        b = worker[t]
        if status[t] == WAITING or b >= len(p.worker_threads):
            continue
        present[t, b] = end[t]
        for k in range(p.in_ptr[t], p.in_ptr[t + 1]):
            q = p.in_task[k]
            since, whole = max(start[t], end[q]), p.in_bytes[k] >= p.output_bytes[q]
            shows = status[q] == ENDED and whole and start[q] <= start[t]
            if shows and present[q, b] > since + 1e-9 * max(1.0, since):
                present[q, b] = since


@compiled
def settle(
    p: Problem,
    alive: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    forgets: bool,
    status: Ints,
    worker: Ints,
    present: Floats,
    home: Ints,
    again: NDArray[np.bool_],
) -> None:
    """Take back what lost workers took: runs, and outputs of which no copy is left.

    An ended task becomes a waiting one exactly if somebody still needs its output and no worker has
    it; consumers come first, so that whatever it needs itself is looked at after it.

    Args:
        wanted: (n,) outputs that are needed beyond the graph.
        forgets: workers drop an output when all of its consumers have ended.
        again: (n,) is set for these tasks. The others are in and out.
    """
    w = len(p.worker_threads)
    forgotten = np.zeros(len(status), dtype=np.bool_)
    for t in range(len(status)):
        if forgets and status[t] == ENDED and p.out_ptr[t] < p.out_ptr[t + 1] and not wanted[t]:
            forgotten[t] = True
            for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
                if status[p.out_task[k]] != ENDED:
                    forgotten[t] = False
    for x in range(len(status) - 1, -1, -1):
        t = p.topological[x]
        there = worker[t] < w and alive[worker[t]]
        if status[t] == RUNNING:
            if there:
                home[t] = worker[t]
            else:
                status[t], again[t] = WAITING, True
        if status[t] == WAITING:
            present[t, :] = np.inf
        if status[t] != ENDED:
            continue
        for b in range(w):
            if forgotten[t] or not alive[b]:
                present[t, b] = np.inf
        home[t] = worker[t] if there and not forgotten[t] else -1
        if home[t] < 0:
            first = np.inf
            for b in range(w):
                if present[t, b] < first:
                    first, home[t] = present[t, b], b
        needed = wanted[t]
        for k in range(p.out_ptr[t], p.out_ptr[t + 1]):
            needed |= status[p.out_task[k]] == WAITING
        if needed and home[t] < 0:
            status[t], again[t] = WAITING, True
