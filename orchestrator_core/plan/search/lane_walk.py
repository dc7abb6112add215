"""Walk: all that the search on lanes remembers between two moves, as arrays (stage 3).

There are two solutions in it: the current one (names with `now_`) and the trial that a move makes
of it. Both are an order of the tasks and, for each task, the worker and the mode on which it is
pinned, or -1 where the decoder chooses. What the decoder placed is kept with them, and a log by
which the lanes can be taken back to any position of the order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import Problem

MOST_GAPS = 4_000_000
"""Most idle gaps that there is room for, over all lanes; beyond, a part of one is forgotten."""


_BY_TASK = (
    *("order", "rank", "place", "pinned", "now_order", "critical", "flag", "hold"),
    *("best_order", "best_place", "best_pinned", "best_worker", "best_mode"),
)


class Lanes(NamedTuple):
    """The threads of all workers, and the idle gaps on them, sorted by time.

    Attributes:
        ptr: (w + 1,) lanes of worker b are ``ptr[b]`` up to, not including, ``ptr[b + 1]``.
        last, last_task: (l,) the last end on a lane, and the task that ends there, or -1.
        gaps: (l,) how many gaps a lane has. since, until: (l, g) seconds.
        before: (l, g) the task that ends where the gap begins, or -1.
    """

    ptr: Ints
    last: Floats
    last_task: Ints
    gaps: Ints
    since: Floats
    until: Floats
    before: Ints


class Placed(NamedTuple):
    """A decoded order: (n,) by task, and by position x of the order.

    Attributes:
        start, end, worker, mode: of each task. cause: the task on the same lane whose end a task
            waited for, or -1.
        log: (n, 5) by position: lane or -1, gap or -1, what was done, the task before, the task.
        old: (n, 2) by position: what stood in the lane before.
        peak, late, reach: (n + 1,) of the first x tasks: last end, penalties for lateness, and a
            lower bound on the last end of all tasks.
    """

    start: Floats
    end: Floats
    worker: Ints
    mode: Ints
    cause: Ints
    log: Ints
    old: Floats
    peak: Floats
    late: Floats
    reach: Floats


class Walk(NamedTuple):
    """Where the search stands.

    Attributes:
        order, rank, place, pinned: (n,) the trial: tasks by turn, turn, worker or -1, mode or -1.
        now_order: (n,) the order of the current solution.
        trial, now: what they decode to.
        lanes: filled with the first `depth` tasks of the trial; the first `valid` of them are
            those of the current solution. depth, valid: the two items of `filled`.
        tail: (n, w) seconds that must follow a task's end on a worker, at least.
        due: (n, 2) seconds; a soft one and the deadline. rate: (n, 3) penalty for a second after
            each, and for missing the deadline at all.
        latest: (n,) seconds by which a task ended lately without holding up the current value, if
            the lanes keep their order; infinity where that is not asked for.
        critical: (n,) the tasks that hold up the value, `counts[0]` of them.
        touched: (n, 3) task, worker and mode before the move of what it pinned, `counts[1]` rows.
        flag: (n,) marks of tasks; marked is what holds `counts[2]`.
        changed: the move changed the order within ``changed[0]`` up to, without, ``changed[1]``.
        hold: (n,) and ready: (w,) scratch.
        credit: (2, k) gains and tries of each kind of move, fading.
        best_order, best_place, best_pinned: (n,) the best solution; best_start, best_end,
            best_worker, best_mode: what it decodes to.
        value: (2,) of the current and of the best solution.
        makespan_weight: (1,) what a second of makespan counts.
    """

    order: Ints
    rank: Ints
    place: Ints
    pinned: Ints
    now_order: Ints
    trial: Placed
    now: Placed
    lanes: Lanes
    filled: Ints
    tail: Floats
    due: Floats
    rate: Floats
    latest: Floats
    critical: Ints
    touched: Ints
    flag: Ints
    counts: Ints
    changed: Ints
    hold: Ints
    ready: Floats
    credit: Floats
    best_order: Ints
    best_place: Ints
    best_pinned: Ints
    best_start: Floats
    best_end: Floats
    best_worker: Ints
    best_mode: Ints
    value: Floats
    makespan_weight: Floats


def new_walk(problem: Problem, tail: Floats, due: Floats, rate: Floats, weight: float) -> Walk:
    """Room for the search; `begin` in `lane_anneal.py` sets it to a solution."""
    n, w = problem.n_tasks, problem.n_workers
    columns: dict[str, Any] = {name: np.zeros(n, dtype=np.int64) for name in _BY_TASK}
    return Walk(
        **columns,
        trial=_placed(n),
        now=_placed(n),
        lanes=_lanes(problem),
        filled=np.zeros(2, dtype=np.int64),
        tail=tail,
        due=due,
        rate=rate,
        latest=np.full(n, np.inf),
        touched=np.zeros((n + 64, 3), dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
        changed=np.array([n, 0]),
        ready=np.zeros(w),
        credit=np.ones((2, 16)),
        best_start=np.zeros(n),
        best_end=np.zeros(n),
        value=np.full(2, np.inf),
        makespan_weight=np.array([weight]),
    )


def _placed(n: int) -> Placed:
    return Placed(
        start=np.zeros(n),
        end=np.zeros(n),
        worker=np.zeros(n, dtype=np.int64),
        mode=np.zeros(n, dtype=np.int64),
        cause=np.zeros(n, dtype=np.int64),
        log=np.full((n, 5), -1, dtype=np.int64),
        old=np.zeros((n, 2)),
        peak=np.zeros(n + 1),
        late=np.zeros(n + 1),
        reach=np.zeros(n + 1),
    )


def _lanes(problem: Problem) -> Lanes:
    n = problem.n_tasks
    ptr = np.concatenate([[0], np.cumsum(np.minimum(problem.worker_threads, max(1, n)))])
    lanes = int(ptr[-1])
    room = min(n + 1, max(64, MOST_GAPS // lanes))
    return Lanes(
        ptr.astype(np.int64),
        np.zeros(lanes),
        np.full(lanes, -1, dtype=np.int64),
        np.zeros(lanes, dtype=np.int64),
        np.zeros((lanes, room)),
        np.zeros((lanes, room)),
        np.zeros((lanes, room), dtype=np.int64),
    )
