"""Arcs: a schedule as a disjunctive graph, for search where decoding anew is too slow (stage 3).

Each lane (thread) has a sequence of tasks; a task starts when the task before it on its lane has
ended and its inputs have arrived. A move takes a task out of its sequence and puts it into another.
What that does to the paths through the task is estimated from heads (starts) and tails in constant
time, so that only promising moves are reckoned through (Taillard, Parallel taboo search techniques
for the job shop scheduling problem, 1994; Mastrolilli and Gambardella, Effective neighbourhood
functions for the flexible job shop problem, 2000). Heads and tails are renewed only where they
change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem

MOST_PLACES = 20_000_000
"""Most lanes x tasks that there is room for."""

MOST_MOVED = 64
"""Most tasks that one move takes elsewhere."""


class Arcs(NamedTuple):
    """n tasks on l lanes of w workers.

    Attributes:
        order, rank: (n,) tasks by turn, producers and those before on the lane first; the turn.
        lane: (n,) or -1 for a task of no duration. worker: (n,).
        ahead, behind: (n,) tasks next to it on its lane, or -1.
        row, length: (l, n) tasks on a lane in turn, and (l,) how many.
        lane_worker: (l,). lane_ptr: (w + 1,) lanes of worker b from ``lane_ptr[b]`` on.
        seconds: (n, w) shortest duration, infinity where not eligible.
        start, end, tail: (n,) seconds; tail is the longest path from the end to the last end.
        flag: (n,) stamps. critical: (n,) tasks on a longest path.
        old_task: (2n,) and old_time: (2n, 2) log of starts and ends that a move changed.
        old_tail_task, old_tail: (2n,) log of tails.
        moved: (k, 7) log of tasks moved: task, lane, place, rank, worker, and who was ahead and
            behind.
        counts: [critical, stamp, old times, moved, tasks that may have no lane, work, old tails].
        slot: [place, least and most rank, ahead and behind of who was taken off] and slot_time:
            [head, tail], found last.
        credit: (2, kinds). value: [current, best].
        best_order, best_start, best_end, best_worker: (n,).
    """

    order: Ints
    rank: Ints
    lane: Ints
    worker: Ints
    ahead: Ints
    behind: Ints
    row: Ints
    length: Ints
    lane_worker: Ints
    lane_ptr: Ints
    seconds: Floats
    start: Floats
    end: Floats
    tail: Floats
    flag: Ints
    critical: Ints
    old_task: Ints
    old_time: Floats
    old_tail_task: Ints
    old_tail: Floats
    moved: Ints
    counts: Ints
    slot: Ints
    slot_time: Floats
    credit: Floats
    value: Floats
    best_start: Floats
    best_end: Floats
    best_worker: Ints


def room_for(problem: Problem) -> bool:
    """Is there room for the rows of all lanes?"""
    return bool(
        np.minimum(problem.worker_threads, problem.n_tasks).sum() * problem.n_tasks <= MOST_PLACES
    )


def new_arcs(problem: Problem, seconds: Floats) -> Arcs:
    """Room for the search; `load` in `arc_anneal.py` sets it to a schedule."""
    n = problem.n_tasks
    each = np.minimum(problem.worker_threads, max(1, n))
    lanes = int(each.sum())

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    return Arcs(
        order=ints(n),
        rank=ints(n),
        lane=ints(n),
        worker=ints(n),
        ahead=ints(n),
        behind=ints(n),
        row=ints(lanes, n),
        length=ints(lanes),
        lane_worker=np.repeat(np.arange(problem.n_workers), each),
        lane_ptr=np.concatenate([[0], np.cumsum(each)]).astype(np.int64),
        seconds=seconds,
        start=np.zeros(n),
        end=np.zeros(n),
        tail=np.zeros(n),
        flag=ints(n),
        critical=ints(n),
        old_task=ints(2 * n + 2 * MOST_MOVED),
        old_time=np.zeros((2 * n + 2 * MOST_MOVED, 2)),
        old_tail_task=ints(2 * n + 2 * MOST_MOVED),
        old_tail=np.zeros(2 * n + 2 * MOST_MOVED),
        moved=ints(MOST_MOVED, 7),
        counts=ints(7),
        slot=ints(5),
        slot_time=np.zeros(2),
        credit=np.ones((2, 8)),
        value=np.full(2, np.inf),
        best_start=np.zeros(n),
        best_end=np.zeros(n),
        best_worker=ints(n),
    )
