"""Work stealing, as distributed's `WorkStealing.balance` does it: who takes what from whom.

Coarser than the original: a move takes no time. The scheduler does not know which units have begun:
it asks for those, too, in no order, once each, and meanwhile believes that they are moved.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.execute.simulate.kernel.beliefs import (
    BEFORE,
    GIVEN,
    LAST,
    OCCUPANCY,
    Beliefs,
    Books,
    forget,
)
from orchestrator_core.execute.simulate.kernel.choice import (
    best_of_marked,
    fetch_seconds,
    give_to,
)
from orchestrator_core.execute.simulate.kernel.cluster import take_back
from orchestrator_core.execute.simulate.kernel.events import note
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.occupancy import (
    mark_unoccupied,
    mean_occupancy,
    unoccupied,
)
from orchestrator_core.execute.simulate.kernel.state import START, State
from orchestrator_core.execute.simulate.kernel.what import WAKE
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import inlined

LEVELS = 15
"""Units are stolen by classes of what a move costs over what they compute; above, never."""

TRIES = 16
"""Units of one victim and one class that are refused before the rest of them is passed by."""


@inlined
def balance_if_due(job: Job, s: State, p: Beliefs, b: Books) -> None:
    """Balance when the time has come; ask to be woken then, as long as something waits."""
    now = s.clock[0]
    if now >= b.tick[0]:
        b.tick[0] = np.inf
        _balance(job, s, p, b)
    if b.tick[0] == np.inf and p.interval[0] < np.inf and _any_waits(job, b):
        b.tick[0] = _next_tick(p, now)
        note(s, b.tick[0], WAKE, -1)


@inlined
def _next_tick(p: Beliefs, now: float) -> float:
    """The next moment after this one at which the scheduler's timer goes off."""
    interval = p.interval[0]
    past = np.floor((now - p.phase[0]) / interval)
    tick = p.phase[0] + interval * (past + 1)
    return float(tick if tick > now else now + interval)


@inlined
def _any_waits(job: Job, b: Books) -> bool:
    """Has some worker been given more than it can run at once?"""
    waits = False
    for worker in range(len(b.mark)):
        waits = waits or b.of[worker, GIVEN] > job.worker_threads[worker]
    return bool(waits)


@inlined
def _balance(job: Job, s: State, p: Beliefs, b: Books) -> None:
    mean = mean_occupancy(job, b)
    thieves = mark_unoccupied(job, b, mean)
    if not thieves or thieves == len(b.mark):
        return
    victims = _victims(job, p, b, mean)
    # Cheapest class first, fullest victim first within it; who they are is settled before.
    ends = _in_classes(p, b, victims)
    asked = np.empty((ends[-1] if len(ends) else 0, 3), dtype=np.int64)
    begin = vain = 0
    for place in range(len(ends)):
        victim = victims[place % len(victims)]
        refused = 0
        for i in range(begin, ends[place]):
            if not thieves or refused >= TRIES:
                break
            unit = b.bucket[i]
            thief = _thief(job, s, p, b, unit, victim)
            if thief < 0:
                refused += 1
                continue
            if s.when[unit, START] < 0:
                _move(job, s, p, b, unit, victim, thief)
            else:
                asked[vain] = unit, victim, thief
                vain += 1
                b.asked[unit] = 1
                _believe_moved(b, unit, victim, thief, 1)
            if not unoccupied(job, b, thief, mean):
                b.mark[thief] = 0
                thieves -= 1
        begin = ends[place]
    for unit, victim, thief in asked[:vain]:
        _believe_moved(b, unit, victim, thief, -1)
        if not b.of[thief, GIVEN]:
            b.load[thief, OCCUPANCY] = 0.0  # exactly, whatever rounding says


@inlined
def _believe_moved(b: Books, unit: int, victim: int, thief: int, number: int) -> None:
    """The unit is believed to be with the thief now; or, with -1 for 1, no more."""
    b.of[victim, GIVEN] -= number
    b.of[thief, GIVEN] += number
    b.load[victim, OCCUPANCY] -= number * b.cost[unit]
    b.load[thief, OCCUPANCY] += number * b.cost[unit]


@inlined
def _in_classes(p: Beliefs, b: Books, victims: Ints) -> Ints:
    """Fill the bucket with what is to be asked for, by class, then victim; (15 v,) where each ends.

    Within these in no order: Dask takes them from sets.
    """
    v = len(victims)
    ends = np.zeros(LEVELS * v + 1, dtype=np.int64)
    for fill in (False, True):
        for place in range(v):
            unit = b.of[victims[place], LAST]
            while unit >= 0:
                if p.level[unit] >= 0 and not b.asked[unit]:
                    at = p.level[unit] * v + place
                    if fill:
                        b.bucket[ends[at]] = unit
                        ends[at] += 1
                    else:
                        ends[at + 1] += 1
                unit = b.link[unit, BEFORE]
        if not fill:
            ends[:] = np.cumsum(ends)
    for at in range(LEVELS * v):
        units = b.bucket[ends[at - 1] if at else 0 : ends[at]]
        units[:] = units[np.argsort(p.lot[units])]
    return ends[: LEVELS * v]


@inlined
def _victims(job: Job, p: Beliefs, b: Books, mean: float) -> Ints:
    """The saturated workers, else those with more than they can run; the fullest first."""
    w = len(p.order)
    victims = np.empty(w, dtype=np.int64)
    count = 0
    for worker in p.order:
        if _saturated(job, b, worker, mean):
            count = _by_occupancy(b, victims, count, worker)
    if not count:
        for worker in p.order:
            more = b.of[worker, GIVEN] > job.worker_threads[worker]
            if more and b.load[worker, OCCUPANCY] > 0.2 and not b.mark[worker]:
                count = _by_occupancy(b, victims, count, worker)
    return victims[:count]


@inlined
def _by_occupancy(b: Books, victims: Ints, count: int, worker: int) -> int:
    """Put the worker behind all that are as full as it is; how many there are now."""
    place = count
    while place and b.load[victims[place - 1], OCCUPANCY] < b.load[worker, OCCUPANCY]:
        victims[place] = victims[place - 1]
        place -= 1
    victims[place] = worker
    return count + 1


@inlined
def _thief(job: Job, s: State, p: Beliefs, b: Books, unit: int, victim: int) -> int:
    """Of the marked workers the one that takes the unit over, if that pays; else -1."""
    thief = best_of_marked(job, s, p, b, unit)
    if thief < 0:
        return -1
    compute = p.seconds[unit]
    there = b.load[thief, OCCUPANCY] + fetch_seconds(job, s, p, unit, thief) + compute
    here = (fetch_seconds(job, s, p, unit, victim) + compute) / 2
    return thief if there <= b.load[victim, OCCUPANCY] - here else -1


@inlined
def _move(job: Job, s: State, p: Beliefs, b: Books, unit: int, victim: int, thief: int) -> None:
    forget(b, unit, victim)
    take_back(job, s, unit)
    give_to(job, s, p, b, unit, thief)


@inlined
def _saturated(job: Job, b: Books, worker: int, mean: float) -> bool:
    """`check_idle_saturated`: more units than threads, and far more waiting than the mean."""
    given, threads = b.of[worker, GIVEN], job.worker_threads[worker]
    if given <= threads or unoccupied(job, b, worker, mean):
        return False
    pending = b.load[worker, OCCUPANCY] * (given - threads) / (given * threads)
    return bool(pending > 0.4 and pending > 1.9 * mean)
