"""A plan that is followed and mended: what has not begun goes elsewhere where that ends sooner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.execute.simulate.kernel.cluster import begin_at_hand, give, take_back
from orchestrator_core.execute.simulate.kernel.events import note
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.listing import Listing, empty_listing, list_rest
from orchestrator_core.execute.simulate.kernel.outcome import Came, came
from orchestrator_core.execute.simulate.kernel.planned import Books, Plan, books_of, follow
from orchestrator_core.execute.simulate.kernel.state import ABOUT, START, WORKER, State, beginning
from orchestrator_core.execute.simulate.kernel.step import first_ones, step
from orchestrator_core.execute.simulate.kernel.what import DONE, OVER, SETTLE, WAKE
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import compiled, inlined, lent

NOBODY = -1
"""Whom the moment of the next look is about."""


class Mending(NamedTuple):
    """When a plan is changed on the way.

    Attributes:
        believed: (m, w) seconds that tasks are believed to take, frozen.
        pause: seconds between two looks.
        worth: part of the remaining time that a change must save. least: seconds that it must save.
        calm: part of the remaining time by which the end may differ from what was last believed
            before anything else is thought of.
    """

    believed: Floats
    pause: float
    worth: float
    least: float
    calm: float


@compiled
def run_mended(job: Job, plan: Plan, mending: Mending, ahead: bool, most: int) -> Came:
    """Everything runs where it is planned, until something else is better.

    Args:
        ahead: are outputs sent to where they will be needed when they are done?
        most: transfers for which there is room, >= 1.
    """
    s = beginning(job, most)
    own = Plan(plan.worker.copy(), plan.causes, plan.patience, plan.held_ptr, plan.held)
    kept, anew = empty_listing(job), empty_listing(job)
    _run(job, s, own, books_of(own), mending, kept, anew, ahead)
    return came(s)


@inlined
def _run(
    job: Job,
    s: State,
    own: Plan,
    b: Books,
    mending: Mending,
    kept: Listing,
    anew: Listing,
    ahead: bool,
) -> None:
    job, s, own, b = lent(job), lent(s), lent(own), lent(b)
    mending, kept, anew = lent(mending), lent(kept), lent(anew)
    order = np.argsort(job.priority)
    first_ones(job, s)
    note(s, mending.pause, WAKE, NOBODY)
    due, end = False, np.inf
    what = step(job, s)
    while what != OVER:
        due = due or (what == WAKE and s.number[ABOUT] == NOBODY)
        if what == DONE:
            begin_at_hand(job, s, s.unit[s.number[ABOUT], WORKER])
        follow(job, s, own, b, what, ahead, 0.0)
        if what == SETTLE and due:
            due = False
            if (s.when[:, START] < 0).any():
                end = _look(job, s, own, mending, order, end, kept, anew)
                note(s, s.clock[0] + mending.pause, WAKE, NOBODY)
        what = step(job, s)


@inlined
def _look(
    job: Job,
    s: State,
    own: Plan,
    mending: Mending,
    order: Ints,
    end: float,
    kept: Listing,
    anew: Listing,
) -> float:
    """Change the plan if that pays; when the run will end, in seconds, where `end` was believed."""
    stays = list_rest(job, s, mending.believed, order, own.worker, True, kept)
    rest = stays - s.clock[0]
    if abs(stays - end) <= mending.calm * rest:
        return end
    goes = list_rest(job, s, mending.believed, order, own.worker, False, anew)
    if stays - goes <= max(mending.least, mending.worth * rest):
        return stays
    _change(job, s, own, anew)
    return goes


@inlined
def _change(job: Job, s: State, own: Plan, anew: Listing) -> None:
    """What has not begun goes where it is listed."""
    for unit in range(len(job.mode)):
        if s.when[unit, START] < 0 and own.worker[unit] != anew.worker[unit]:
            own.worker[unit] = anew.worker[unit]
            if s.unit[unit, WORKER] >= 0:
                take_back(job, s, unit)
                give(job, s, unit, own.worker[unit])
