"""A plan's places and order: each unit is given to its worker once nothing holds it back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.execute.simulate.kernel.cluster import fetch, give
from orchestrator_core.execute.simulate.kernel.events import note
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.outcome import Came, came
from orchestrator_core.execute.simulate.kernel.state import ABOUT, LEFT, WORKER, State, beginning
from orchestrator_core.execute.simulate.kernel.step import first_ones, step
from orchestrator_core.execute.simulate.kernel.what import (
    DONE,
    OVER,
    READY,
    SETTLE,
    WAKE,
)
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inlined, lent

NEVER = -1.0
"""The moment until which a unit waits that is not held back now."""

GIVEN, DELAYED, FREED = 0, 1, 2
"""How many delayed units were given, how many there are, and how many are freed."""


class Plan(NamedTuple):
    """Where units go, and what holds them back; all arrays frozen.

    Attributes:
        worker: (u,) where each is planned.
        causes: (u,) how many things hold the unit back; 0 for none.
        patience: (u,) seconds from being ready, after which it is given all the same.
        held_ptr, held: when unit i is given, ``held[held_ptr[2 * i] : held_ptr[2 * i + 1]]`` have
            one cause less; when it is done, those of ``2 * i + 1``.
    """

    worker: Ints
    causes: Ints
    patience: Floats
    held_ptr: Ints
    held: Ints


class Books(NamedTuple):
    """What the policy keeps.

    Attributes:
        causes: (u,) those that are left. until: (u,) seconds; `NEVER` if it does not wait.
        freed: (u,) units to be given now. delayed: (u,) units to be given later, and `moment` (u,)
            when. number: (3,).
    """

    causes: Ints
    until: Floats
    freed: Ints
    delayed: Ints
    moment: Floats
    number: Ints


@compiled
def run_planned(job: Job, plan: Plan, ahead: bool, lag: float, most: int) -> Came:
    """Everything runs where it is planned.

    Args:
        ahead: are outputs sent to where they will be needed when they are done?
        lag: seconds between what happens and what is done about it.
        most: transfers for which there is room, >= 1.
    """
    s, b = beginning(job, most), books_of(plan)
    _run(job, s, plan, b, ahead, lag)
    return came(s)


@inlined
def _run(job: Job, s: State, plan: Plan, b: Books, ahead: bool, lag: float) -> None:
    job, s, plan, b = lent(job), lent(s), lent(plan), lent(b)
    first_ones(job, s)
    what = step(job, s)
    while what != OVER:
        follow(job, s, plan, b, what, ahead, lag)
        what = step(job, s)


@inlined
def follow(job: Job, s: State, plan: Plan, b: Books, what: int, ahead: bool, lag: float) -> None:
    """Do what the plan says about what has happened; see `what.py`."""
    who = s.number[ABOUT]
    if what == READY:
        _ready(job, s, plan, b, lag, who)
    elif what == DONE:
        _happened(plan, b, 2 * who + 1)
        _give_freed(job, s, plan, b, lag)
        if ahead:
            _send_ahead(job, s, plan, who)
    elif what == WAKE and who >= 0 and b.until[who] >= 0:
        _free(b, who)
        _give_freed(job, s, plan, b, lag)
    elif what == SETTLE:
        _give_delayed(job, s, plan, b)


@inlined
def books_of(plan: Plan) -> Books:
    u = len(plan.worker)
    return Books(
        plan.causes.copy(),
        np.full(u, NEVER),
        np.empty(u, dtype=np.int64),
        np.empty(u, dtype=np.int64),
        np.empty(u),
        np.zeros(3, dtype=np.int64),
    )


@inlined
def _ready(job: Job, s: State, plan: Plan, b: Books, lag: float, unit: int) -> None:
    """Give the unit, or let it wait."""
    if b.causes[unit] > 0 and plan.patience[unit] > 0:
        b.until[unit] = s.clock[0] + plan.patience[unit]
        note(s, b.until[unit], WAKE, unit)
    else:
        _free(b, unit)
        _give_freed(job, s, plan, b, lag)


@inlined
def _free(b: Books, unit: int) -> None:
    """Nothing holds the unit back any more: it is to be given."""
    b.causes[unit], b.until[unit] = 0, NEVER
    b.freed[b.number[FREED]] = unit
    b.number[FREED] += 1


@inlined
def _happened(plan: Plan, b: Books, cause: int) -> None:
    """Those that waited for that alone are free."""
    for k in range(plan.held_ptr[cause], plan.held_ptr[cause + 1]):
        unit = plan.held[k]
        if b.causes[unit] > 0:
            b.causes[unit] -= 1
            if not b.causes[unit] and b.until[unit] >= 0:
                _free(b, unit)


@inlined
def _give_freed(job: Job, s: State, plan: Plan, b: Books, lag: float) -> None:
    """Give what is free, now or after the lag."""
    if lag > 0:
        while b.number[FREED]:
            b.number[FREED] -= 1
            _delay(s, b, b.freed[b.number[FREED]], s.clock[0] + lag)
    else:
        _give_all(job, s, plan, b)


@inlined
def _delay(s: State, b: Books, unit: int, moment: float) -> None:
    place = b.number[DELAYED]
    b.number[DELAYED] += 1
    b.delayed[place], b.moment[place] = unit, moment
    note(s, moment, WAKE, -1)


@inlined
def _give_all(job: Job, s: State, plan: Plan, b: Books) -> None:
    """Give what is free, and whatever waited for nothing but that."""
    while b.number[FREED]:
        b.number[FREED] -= 1
        unit = b.freed[b.number[FREED]]
        give(job, s, unit, plan.worker[unit])
        _happened(plan, b, 2 * unit)


@inlined
def _give_delayed(job: Job, s: State, plan: Plan, b: Books) -> None:
    """Give what has been delayed for long enough."""
    while b.number[GIVEN] < b.number[DELAYED] and b.moment[b.number[GIVEN]] <= s.clock[0]:
        _free(b, b.delayed[b.number[GIVEN]])
        b.number[GIVEN] += 1
        _give_all(job, s, plan, b)


@inlined
def _send_ahead(job: Job, s: State, plan: Plan, unit: int) -> None:
    """Send the output to where it will be needed by what still waits for other inputs."""
    for k in range(job.out_ptr[unit], job.out_ptr[unit + 1]):
        consumer = job.out_unit[k]
        worker = plan.worker[consumer]
        if s.unit[consumer, LEFT] and worker != s.unit[unit, WORKER]:
            fetch(job, s, unit, worker)
