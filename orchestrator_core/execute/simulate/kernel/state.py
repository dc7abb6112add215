"""State: what changes while a simulation runs; the numbers below name columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inlined

WORKER, MISSING, LEFT = 0, 1, 2
"""Of a unit: where it was given to, or -1; inputs that are not there yet; inputs not done."""

START, END = 0, 1
"""Of a unit, in seconds; a start of -1 is none yet."""

KEY, LOW, HIGH, ABOVE = 0, 1, 2, 3
"""Of a node in a line: its place in the order, and its neighbours in the heap, or -1."""

SERIAL, WHAT, WHO = 0, 1, 2
"""Of an event; `WHO` is a unit or a transfer."""

UNIT, DESTINATION, ARRIVED, FIRST = 0, 1, 2, 3
"""Of a transfer: what, where to, has it arrived, and the first need that waits for it, or -1."""

BEGUN, ENCODED, THERE = 0, 1, 2
"""Of a transfer, in seconds."""

NEEDED_BY, TRANSFER, NEXT, BEFORE = 0, 1, 2, 3
"""Of a need: the unit, the transfer that it waits for, or -1, and its neighbours there, or -1."""

IS_AWAKE, AWAKE = 0, 1
"""Of the workers: has this one to be looked at? And a list of those."""

EVENTS, LAST_SERIAL, TRANSFERS, AWAKE_ONES, SETTLED, ABOUT, FULL = 0, 1, 2, 3, 4, 5, 6
"""How many events, transfers, and workers to look at there are; has the policy settled this
moment; whom the latest step is about; is there no room for another transfer?"""

COUNTERS = 7


class State(NamedTuple):
    """u units, e needs, w workers, r resources; room for t transfers and v events.

    Attributes:
        unit: (u, 3). when: (u, 2). clock: (1,) seconds.
        threads: (w,) free. free: (w, r) resources. awake: (w, 2).
        node: (u + t, 4) units, then encodings, in lines.
        root: (w + 2,) the first of each worker's line, of `queue_of` and of `ready_of`, or -1.
        moment: (v,) seconds; event: (v, 3); a heap.
        sent: (t, 4). sent_at: (t, 3). table: transfers by what and where to, see `sent.py`.
        need: (e, 4). number: (7,).
    """

    unit: Ints
    when: Floats
    clock: Floats
    threads: Ints
    free: Floats
    awake: Ints
    node: Ints
    root: Ints
    moment: Floats
    event: Ints
    sent: Ints
    sent_at: Floats
    table: Ints
    need: Ints
    number: Ints


@inlined
def beginning(job: Job, most: int) -> State:
    """Before anything has happened, with room for `most` >= 1 transfers."""
    u, w = len(job.mode), len(job.worker_threads)
    slots = 4
    while slots < 2 * most:
        slots *= 2
    unit = np.zeros((u, 3), dtype=np.int64)
    node = np.empty((u + most, 4), dtype=np.int64)
    need = np.empty((len(job.in_unit), 4), dtype=np.int64)
    for i in range(u):
        unit[i, WORKER] = -1
        unit[i, LEFT] = job.in_ptr[i + 1] - job.in_ptr[i]
        node[i, KEY] = job.priority[i]
        for k in range(job.in_ptr[i], job.in_ptr[i + 1]):
            need[k, NEEDED_BY], need[k, TRANSFER] = i, -1
    when = np.zeros((u, 2))
    when[:, START] = -1.0
    room = 3 * u + 2 * most + 8
    return State(
        unit,
        when,
        np.zeros(1),
        job.worker_threads.copy(),
        job.supply.copy(),
        np.zeros((w, 2), dtype=np.int64),
        node,
        np.full(w + 2, -1, dtype=np.int64),
        np.empty(room),
        np.empty((room, 3), dtype=np.int64),
        np.empty((most, 4), dtype=np.int64),
        np.empty((most, 3)),
        np.full(slots, -1, dtype=np.int64),
        need,
        np.zeros(COUNTERS, dtype=np.int64),
    )


@inlined
def queue_of(s: State) -> int:
    """The line of what the scheduler keeps."""
    return len(s.root) - 2


@inlined
def ready_of(s: State) -> int:
    """The line of what the policy is to be told of as ready."""
    return len(s.root) - 1
