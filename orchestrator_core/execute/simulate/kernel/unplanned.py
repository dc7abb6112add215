"""Dask's own policy: what its scheduler decides when a unit becomes ready or ends."""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.beliefs import (
    HELD,
    Beliefs,
    Books,
    empty_books,
    forget,
)
from orchestrator_core.execute.simulate.kernel.choice import (
    arrived,
    best_place,
    give_to,
    least_busy,
    most_room,
)
from orchestrator_core.execute.simulate.kernel.cluster import begin_at_hand
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.lines import join, take_first
from orchestrator_core.execute.simulate.kernel.outcome import Came, came
from orchestrator_core.execute.simulate.kernel.state import (
    ABOUT,
    WORKER,
    State,
    beginning,
    queue_of,
)
from orchestrator_core.execute.simulate.kernel.stealing import balance_if_due
from orchestrator_core.execute.simulate.kernel.step import first_ones, step
from orchestrator_core.execute.simulate.kernel.what import ARRIVAL, DONE, OVER, READY, SETTLE
from orchestrator_core.plan.engine.compiled import compiled, inlined, lent


@compiled
def run_unplanned(job: Job, p: Beliefs, most: int) -> Came:
    """Everything runs where Dask would run it, with room for `most` >= 1 transfers."""
    s, b = beginning(job, most), empty_books(job, most)
    _run(job, s, p, b)
    return came(s)


@inlined
def _run(job: Job, s: State, p: Beliefs, b: Books) -> None:
    job, s, p, b = lent(job), lent(s), lent(p), lent(b)
    first_ones(job, s)
    what = step(job, s)
    while what != OVER:
        _decide(job, s, p, b, what)
        what = step(job, s)


@inlined
def _decide(job: Job, s: State, p: Beliefs, b: Books, what: int) -> None:
    """Do what Dask would do about what has happened; see `what.py`."""
    who = s.number[ABOUT]
    if what == READY:
        _ready(job, s, p, b, who)
    elif what == DONE:
        worker = s.unit[who, WORKER]
        begin_at_hand(job, s, worker)
        forget(b, who, worker)
        b.load[worker, HELD] += job.size[who]
    elif what == ARRIVAL:
        arrived(job, s, b, who)
    elif what == SETTLE:
        _serve_queue(job, s, p, b, True)
        balance_if_due(job, s, p, b)


@inlined
def _ready(job: Job, s: State, p: Beliefs, b: Books, unit: int) -> None:
    if p.queued[unit]:
        join(s, queue_of(s), unit)
        _serve_queue(job, s, p, b, False)
    else:
        _assign(job, s, p, b, unit, best_place(job, s, p, b, unit))


@inlined
def _serve_queue(job: Job, s: State, p: Beliefs, b: Books, ended: bool) -> None:
    """Give what waits on the scheduler, as long as a worker has room; when units have `ended`, to
    those with the most room.

    Dask hears of one end at a time, when all others are full, so that each worker gets its own room
    filled; by turns where several end at one moment.
    """
    while s.root[queue_of(s)] >= 0:
        worker = most_room(job, p, b) if ended else least_busy(job, p, b)
        if worker < 0:
            return
        _assign(job, s, p, b, take_first(s, queue_of(s)), worker)


@inlined
def _assign(job: Job, s: State, p: Beliefs, b: Books, unit: int, worker: int) -> None:
    b.assigned[0] += 1
    give_to(job, s, p, b, unit, worker)
