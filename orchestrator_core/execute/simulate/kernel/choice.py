"""Where Dask's scheduler would run a unit."""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.beliefs import (
    GIVEN,
    HELD,
    OCCUPANCY,
    Beliefs,
    Books,
    enlist,
)
from orchestrator_core.execute.simulate.kernel.cluster import give
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.occupancy import mark_unoccupied, mean_occupancy
from orchestrator_core.execute.simulate.kernel.sent import is_there
from orchestrator_core.execute.simulate.kernel.state import DESTINATION, UNIT, WORKER, State
from orchestrator_core.plan.engine.compiled import inlined

MANY = 20
"""Workers with little to do among which Dask does not look for the one with the least."""


@inlined
def give_to(job: Job, s: State, p: Beliefs, b: Books, unit: int, worker: int) -> None:
    enlist(b, unit, worker, p.seconds[unit] + fetch_seconds(job, s, p, unit, worker))
    give(job, s, unit, worker)


@inlined
def fetch_seconds(job: Job, s: State, p: Beliefs, unit: int, worker: int) -> float:
    """Believed seconds to bring the inputs that the worker lacks (`get_comm_cost`)."""
    missing = 0.0
    for k in range(job.in_ptr[unit], job.in_ptr[unit + 1]):
        producer = job.in_unit[k]
        if not is_there(s, producer, worker):
            missing += job.size[producer]
    return float(missing * p.seconds_per_byte[0])


@inlined
def is_better(p: Beliefs, b: Books, a: int, start: float, than: int, its_start: float) -> bool:
    """Would worker a be preferred, given when both are believed to begin? (`worker_objective`)"""
    if than < 0 or start != its_start:
        return than < 0 or start < its_start
    if b.load[a, HELD] != b.load[than, HELD]:
        return bool(b.load[a, HELD] < b.load[than, HELD])
    return bool(p.turn[a] < p.turn[than])


@inlined
def best_of_marked(job: Job, s: State, p: Beliefs, b: Books, unit: int) -> int:
    """Of the marked workers that may run the unit, the one that is believed to start first; -1 if
    there is none."""
    best, soonest, mode = -1, 0.0, job.mode[unit]
    for worker in range(len(b.mark)):
        if b.mark[worker] and p.may[mode, worker]:
            start = b.load[worker, OCCUPANCY] / job.worker_threads[worker]
            start += fetch_seconds(job, s, p, unit, worker)
            if is_better(p, b, worker, start, best, soonest):
                best, soonest = worker, start
    return best


@inlined
def best_place(job: Job, s: State, p: Beliefs, b: Books, unit: int) -> int:
    """`decide_worker_non_rootish`: near its inputs if it may run there."""
    inputs = job.in_ptr[unit + 1] - job.in_ptr[unit]
    if not inputs and p.anywhere[job.mode[unit]]:
        return _least_occupied(job, p, b)
    b.mark[:] = 0
    for k in range(job.in_ptr[unit], job.in_ptr[unit + 1]):
        producer = job.in_unit[k]
        b.mark[s.unit[producer, WORKER]] = 1
        x = b.copy[producer]
        while x >= 0:
            b.mark[s.sent[x, DESTINATION]] = 1
            x = b.copy_before[x]
    best = best_of_marked(job, s, p, b, unit)
    if best < 0:
        b.mark[:] = 1
        best = best_of_marked(job, s, p, b, unit)
    return best


@inlined
def _least_occupied(job: Job, p: Beliefs, b: Books) -> int:
    """For a unit without inputs: of the workers with little to do the least occupied, by turns
    where that is nothing; of many such workers any, by turns."""
    idle = mark_unoccupied(job, b, mean_occupancy(job, b))
    if not idle:
        b.mark[:] = 1
        idle = len(b.mark)
    best = -1
    for worker in p.order:
        less = best < 0 or b.load[worker, OCCUPANCY] < b.load[best, OCCUPANCY]
        if b.mark[worker] and less:
            best = worker
    if idle < MANY and b.load[best, OCCUPANCY] > 0:
        return int(best)
    return _in_turn(p, b, b.assigned[0] % idle, idle >= MANY)


@inlined
def _in_turn(p: Beliefs, b: Books, turn: int, any_one: bool) -> int:
    """The first marked worker from the one at that turn on; with nothing to do, or any one."""
    place, w = 0, len(p.order)
    for i in range(2 * w):
        worker = p.order[i % w]
        if b.mark[worker]:
            if place >= turn and (any_one or b.load[worker, OCCUPANCY] == 0):
                return int(worker)
            place += 1
    return -1


@inlined
def least_busy(job: Job, p: Beliefs, b: Books) -> int:
    """`decide_worker_rootish_queuing_enabled`; -1 if no worker has room."""
    best, least = -1, 0.0
    for worker in p.order:
        if b.of[worker, GIVEN] < p.room[worker]:
            busy = b.of[worker, GIVEN] / job.worker_threads[worker]
            if best < 0 or busy < least:
                best, least = worker, busy
    return int(best)


@inlined
def most_room(job: Job, p: Beliefs, b: Books) -> int:
    """The worker with the most room for each of its threads; -1 if none has room."""
    best, most = -1, 0.0
    for worker in p.order:
        room = (p.room[worker] - b.of[worker, GIVEN]) / job.worker_threads[worker]
        if room > most:
            best, most = worker, room
    return int(best)


@inlined
def arrived(job: Job, s: State, b: Books, x: int) -> None:
    """The transfer has reached its destination."""
    unit = s.sent[x, UNIT]
    b.copy_before[x], b.copy[unit] = b.copy[unit], x
    b.load[s.sent[x, DESTINATION], HELD] += job.size[unit]
