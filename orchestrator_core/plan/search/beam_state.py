"""Partial schedules of a beam, and the steps that would extend them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.search.beam_side import Side

Shorts = NDArray[np.int16]


class Partials(NamedTuple):
    """b partial schedules of equally many tasks, each placed by start.

    Attributes:
        missing: (b, n) producers of a task that are not placed, -1 if it is placed itself.
        worker, end: (b, n) where and when a placed task ends.
        free: (b, l) when each thread is free; ascending among those of a worker.
        now: (b,) the latest start so far: nothing starts sooner from here on.
        waste: (b,) seconds of the whole that are lost: idle threads, and tasks where they are
            dearer than elsewhere, both at their prices.
        tasks: (b,) what stands for the set of tasks that are placed.
    """

    missing: Shorts
    worker: Shorts
    end: Floats
    free: Floats
    now: Floats
    waste: Floats
    tasks: Ints


class Steps(NamedTuple):
    """c steps: partial schedule `parent` with `task` on `worker` from `start` on; `waste` and
    `tasks` are those that it has then. A lower `rank` is better."""

    parent: Ints
    task: Ints
    worker: Ints
    start: Floats
    waste: Floats
    tasks: Ints
    rank: Floats


def nothing_placed(side: Side) -> Partials:
    """One schedule, in which no task is placed yet."""
    n = side.n_tasks
    return Partials(
        missing=np.diff(side.in_ptr).astype(np.int16)[None, :].copy(),
        worker=np.zeros((1, n), dtype=np.int16),
        end=np.zeros((1, n)),
        free=np.zeros((1, side.n_threads)),
        now=np.zeros(1),
        waste=np.zeros(1),
        tasks=np.zeros(1, dtype=np.int64),
    )


def room_for_partials(side: Side, b: int) -> Partials:
    """Room for b partial schedules."""
    n = side.n_tasks
    return Partials(
        missing=np.empty((b, n), dtype=np.int16),
        worker=np.empty((b, n), dtype=np.int16),
        end=np.empty((b, n)),
        free=np.empty((b, side.n_threads)),
        now=np.empty(b),
        waste=np.empty(b),
        tasks=np.empty(b, dtype=np.int64),
    )


def room_for_steps(c: int) -> Steps:
    """Room for c steps."""
    ints = [np.empty(c, dtype=np.int64) for _ in range(4)]
    floats = [np.empty(c) for _ in range(3)]
    return Steps(ints[0], ints[1], ints[2], floats[0], floats[1], ints[3], floats[2])
