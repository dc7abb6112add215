"""Work stealing, as distributed's `WorkStealing.balance` does it: who takes what from whom.

Coarser than the original: a move takes no time and is never refused, since only units that have
not begun are moved.
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
from orchestrator_core.execute.simulate.kernel.state import START, State
from orchestrator_core.execute.simulate.kernel.what import WAKE
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.engine.compiled import inlined

INTERVAL = 0.1
"""distributed.scheduler.work-stealing-interval, seconds"""

LEVELS = 15
"""Units are stolen by classes of what a move costs over what they compute; above, never."""

TRIES = 16
"""Units of one victim and one class that are refused before the rest of them is passed by."""

LATEST, NOTED = 0, 1
"""Of the books' clock."""


@inlined
def balance_if_due(job: Job, s: State, p: Beliefs, b: Books) -> None:
    """Balance at most once in each interval; else ask to be woken."""
    now, due = s.clock[0], b.clock[LATEST] + INTERVAL
    if not _any_waits(job, b):
        return
    if now >= due:
        b.clock[LATEST] = now
        _balance(job, s, p, b)
    elif b.clock[NOTED] != due:
        b.clock[NOTED] = due
        note(s, due, WAKE, -1)


@inlined
def _any_waits(job: Job, b: Books) -> bool:
    """Has some worker been given more than it can run at once?"""
    waits = False
    for worker in range(len(b.mark)):
        waits = waits or b.of[worker, GIVEN] > job.worker_threads[worker]
    return bool(waits)


@inlined
def _balance(job: Job, s: State, p: Beliefs, b: Books) -> None:
    mean = _mean(job, b)
    thieves = 0
    for worker in range(len(b.mark)):
        b.mark[worker] = _unoccupied(job, b, worker, mean)
        thieves += b.mark[worker]
    if not thieves or thieves == len(b.mark):
        return
    victims = _victims(job, p, b, mean)
    # Cheapest class first, fullest victim first within it; who they are is settled before.
    ends = _in_classes(s, p, b, victims)
    begin = 0
    for place in range(len(ends)):
        victim = victims[place % len(victims)]
        refused = 0
        for i in range(begin, ends[place]):
            if not thieves or refused >= TRIES:
                break
            thief = _thief(job, s, p, b, b.bucket[i], victim)
            if thief < 0:
                refused += 1
                continue
            _move(job, s, p, b, b.bucket[i], victim, thief)
            if not _unoccupied(job, b, thief, mean):
                b.mark[thief] = 0
                thieves -= 1
        begin = ends[place]


@inlined
def _in_classes(s: State, p: Beliefs, b: Books, victims: Ints) -> Ints:
    """Fill the bucket with what may be stolen, by class, then victim; (15 v,) where each ends.

    Last given, last in line: those come first.
    """
    v = len(victims)
    ends = np.zeros(LEVELS * v + 1, dtype=np.int64)
    for fill in (False, True):
        for place in range(v):
            unit = b.of[victims[place], LAST]
            while unit >= 0:
                if p.level[unit] >= 0 and s.when[unit, START] < 0:
                    at = p.level[unit] * v + place
                    if fill:
                        b.bucket[ends[at]] = unit
                        ends[at] += 1
                    else:
                        ends[at + 1] += 1
                unit = b.link[unit, BEFORE]
        if not fill:
            ends[:] = np.cumsum(ends)
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
def _mean(job: Job, b: Books) -> float:
    """Believed seconds that wait for each thread."""
    occupancy, threads = 0.0, 0
    for worker in range(len(b.mark)):
        occupancy += b.load[worker, OCCUPANCY]
        threads += job.worker_threads[worker]
    return float(occupancy / threads)


@inlined
def _unoccupied(job: Job, b: Books, worker: int, mean: float) -> bool:
    """`is_unoccupied`: fewer units than threads, or half of the mean occupancy."""
    threads = job.worker_threads[worker]
    if b.of[worker, GIVEN] < threads:
        return True
    return bool(b.load[worker, OCCUPANCY] < threads * mean / 2)


@inlined
def _saturated(job: Job, b: Books, worker: int, mean: float) -> bool:
    """`check_idle_saturated`: more units than threads, and far more waiting than the mean."""
    given, threads = b.of[worker, GIVEN], job.worker_threads[worker]
    if given <= threads or _unoccupied(job, b, worker, mean):
        return False
    pending = b.load[worker, OCCUPANCY] * (given - threads) / (given * threads)
    return bool(pending > 0.4 and pending > 1.9 * mean)
