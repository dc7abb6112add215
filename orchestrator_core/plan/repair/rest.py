"""Rest: what is left of a run at a moment, as flat arrays for compiled code (stage 3, repair)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.graph.task_graph import Floats, Ints

WAITING, RUNNING, ENDED, BLOCKED = 0, 1, 2, 3
"""States of a single task: it must still begin (or go on), it is running, it has ended, or it
cannot run as things are and is left out."""


class Rest(NamedTuple):
    """n single tasks and w workers at the moment `now`.

    Attributes:
        now: seconds; nothing new starts before.
        status: (n,) WAITING, RUNNING, ENDED or BLOCKED.
        start, end, worker, mode: (n,) real, or expected, for tasks that have begun. Workers from w
            on are no longer in the cluster.
        home: (n,) the worker from which an output is sent, for outputs that exist or are being
            made; else -1.
        present: (n, w) seconds at which a worker has the output of a task that has begun, which
            may be later than now; infinity where it has to be sent.
        left: (n,) seconds of work that a paused task still needs, else -1.
        earliest: (n,) seconds before which a waiting task does not start; at least `now`.
        pinned, fixed_mode: (n,) the worker and the mode that a waiting task must have, or -1.
        alive: (w,) workers that may be used.
        busy_until: (n,) a waiting task that is to pause at a checkpoint runs until then; else 0.
        taken, taken_until: (x,) workers of the cluster, and the seconds until which somebody else
            has one of their threads.
    """

    now: float
    status: Ints
    start: Floats
    end: Floats
    worker: Ints
    mode: Ints
    home: Ints
    present: Floats
    left: Floats
    earliest: Floats
    pinned: Ints
    fixed_mode: Ints
    alive: NDArray[np.bool_]
    busy_until: Floats
    taken: Ints
    taken_until: Floats


class Placement(NamedTuple):
    """Where the waiting tasks are: (n,) arrays; entries of other tasks mean nothing."""

    start: Floats
    end: Floats
    worker: Ints
    mode: Ints


class Sends(NamedTuple):
    """x transfers: (x,) arrays of single tasks, workers and seconds."""

    unit: Ints
    source: Ints
    destination: Ints
    sent: Floats
    encoded: Floats
    arrived: Floats

    def chosen(self, which: NDArray[np.bool_] | slice) -> Sends:
        """Some of them."""
        return Sends(
            self.unit[which],
            self.source[which],
            self.destination[which],
            self.sent[which],
            self.encoded[which],
            self.arrived[which],
        )

    def none(self) -> Sends:
        return self.chosen(slice(0))
