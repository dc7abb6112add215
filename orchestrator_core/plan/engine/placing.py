"""What the general kernel keeps while it places tasks: plain arrays, filled from compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints


class Sent(NamedTuple):
    """Transfers that are committed; those of one producer are a linked list.

    Attributes:
        first: (n,) the newest transfer of each task, -1 for none. used: (1,) how many there are.
        after: (x,) the next transfer of the same task, -1 for none.
        task, destination, start, encoded, end: (x,).
        held_from, held_until: (x,) when the destination holds the output.
    """

    first: Ints
    used: Ints
    after: Ints
    task: Ints
    destination: Ints
    start: Floats
    encoded: Floats
    end: Floats
    held_from: Floats
    held_until: Floats


class Draft(NamedTuple):
    """Transfers that one candidate would add, and arrays to compute with.

    Attributes:
        task, source: (x,). part: (x,) bytes that the consumer waits for.
        start, encoded: (x,) as soon as possible. late_start, late_encoded: (x,) put off.
        need: (2 + r,) threads, memory, resources. thread, hold: (2 + r,) the same, but for threads
            alone and for memory alone. moments, changes: for `holds_fit`. used: (1,) how many
            transfers there are.
    """

    task: Ints
    source: Ints
    part: Floats
    start: Floats
    encoded: Floats
    late_start: Floats
    late_encoded: Floats
    need: Floats
    thread: Floats
    hold: Floats
    moments: Floats
    changes: Floats
    used: Ints


class Placed(NamedTuple):
    """What is known of each task: (n,) arrays, filled as tasks are placed.

    Attributes:
        waiting: consumers that are not placed. held_until: last use, so far, of the output on
            the worker that made it.
    """

    start: Floats
    end: Floats
    worker: Ints
    mode: Ints
    waiting: Ints
    held_until: Floats


def empty_placed(n: int, waiting: Ints) -> Placed:
    """Nothing placed yet of n tasks, each with so many consumers `waiting`."""
    worker, mode = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    return Placed(np.zeros(n), np.zeros(n), worker, mode, waiting, np.zeros(n))


def empty_sent(n: int, most: int) -> Sent:
    """No transfers of n tasks yet; room for `most`."""
    first, used = np.full(n, -1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    after, task, destination = np.empty((3, most), dtype=np.int64)
    return Sent(first, used, after, task, destination, *np.empty((5, most)))


def empty_draft(most: int, columns: int) -> Draft:
    """A draft for tasks of at most `most` inputs; `columns` as in the profiles."""
    task, source = np.empty((2, most), dtype=np.int64)
    moments, changes = np.empty((2, 4 * most + 4))
    need, thread, hold = np.zeros((3, columns))
    part, start, encoded, late_start, late_encoded = np.empty((5, most))
    return Draft(
        task=task,
        source=source,
        part=part,
        start=start,
        encoded=encoded,
        late_start=late_start,
        late_encoded=late_encoded,
        need=need,
        thread=thread,
        hold=hold,
        moments=moments,
        changes=changes,
        used=np.zeros(1, dtype=np.int64),
    )
