"""What Dask's scheduler believes, and the books that it keeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inlined

NEXT, BEFORE = 0, 1
"""Of a unit that a worker was given: the one given after it, and the one before it, or -1."""

FIRST, LAST, GIVEN = 0, 1, 2
"""Of a worker: the first and the last unit that it was given and has not ended; how many."""

OCCUPANCY, HELD = 0, 1
"""Of a worker: believed seconds of those units; bytes of the outputs there."""


class Beliefs(NamedTuple):
    """u units, m modes, w workers; all arrays frozen.

    Attributes:
        seconds: (u,) believed duration on any worker. seconds_per_byte: (1,) of any link.
        anywhere: (m,) 1 for a mode that may run on all workers. may: (m, w) 1 where it may.
        queued: (u,) 1 for those that wait on the scheduler until a worker has room for them.
        level: (u,) class of what a move costs, or -1: never stolen.
        turn: (w,) in which order workers are taken that seem alike; order: (w,) the workers so.
        room: (w,) units that a worker is given at most of those that wait on the scheduler.
        interval: (1,) seconds from one moment at which work is stolen to the next; inf for never.
        phase: (1,) seconds from the start to the first of them.
        lot: (u,) in which order units are asked for that may be stolen alike.
    """

    seconds: Floats
    seconds_per_byte: Floats
    anywhere: Ints
    may: Ints
    queued: Ints
    level: Ints
    turn: Ints
    order: Ints
    room: Ints
    interval: Floats
    phase: Floats
    lot: Ints


class Books(NamedTuple):
    """What changes: u units, w workers, room for t transfers.

    Attributes:
        load: (w, 2) floats. of: (w, 3). link: (u, 2). cost: (u,) believed seconds.
        copy: (u,) the latest transfer of each unit that has arrived; copy_before: (t,) the one
            before; or -1.
        mark: (w,) which workers are meant. bucket: units to be stolen. asked: (u,) 1 for those
            that a worker would not give away, since they had begun.
        tick: (1,) the next moment at which work is stolen; inf if nobody waits for it.
        assigned: (1,) how many units workers were given, but for those that were stolen.
    """

    load: Floats
    of: Ints
    link: Ints
    cost: Floats
    copy: Ints
    copy_before: Ints
    mark: Ints
    bucket: Ints
    asked: Ints
    tick: Floats
    assigned: Ints


@inlined
def empty_books(job: Job, most: int) -> Books:
    u, w = len(job.mode), len(job.worker_threads)
    of = np.full((w, 3), -1, dtype=np.int64)
    of[:, GIVEN] = 0
    return Books(
        np.zeros((w, 2)),
        of,
        np.empty((u, 2), dtype=np.int64),
        np.zeros(u),
        np.full(u, -1, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.zeros(w, dtype=np.int64),
        np.empty(u, dtype=np.int64),
        np.zeros(u, dtype=np.int64),
        np.full(1, np.inf),
        np.zeros(1, dtype=np.int64),
    )


@inlined
def enlist(b: Books, unit: int, worker: int, seconds: float) -> None:
    """The worker was given the unit."""
    b.cost[unit] = seconds
    b.load[worker, OCCUPANCY] += seconds
    last = b.of[worker, LAST]
    b.link[unit, NEXT], b.link[unit, BEFORE] = -1, last
    if last >= 0:
        b.link[last, NEXT] = unit
    else:
        b.of[worker, FIRST] = unit
    b.of[worker, LAST] = unit
    b.of[worker, GIVEN] += 1


@inlined
def forget(b: Books, unit: int, worker: int) -> None:
    """The worker has ended the unit, or gives it away."""
    after, before = b.link[unit, NEXT], b.link[unit, BEFORE]
    if after >= 0:
        b.link[after, BEFORE] = before
    else:
        b.of[worker, LAST] = before
    if before >= 0:
        b.link[before, NEXT] = after
    else:
        b.of[worker, FIRST] = after
    b.of[worker, GIVEN] -= 1
    # Exactly zero when nothing is left, whatever rounding says.
    left = max(b.load[worker, OCCUPANCY] - b.cost[unit], 0.0)
    b.load[worker, OCCUPANCY] = left if b.of[worker, GIVEN] else 0.0
