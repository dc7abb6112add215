"""What is left of a run, listed: on which workers, and when it is believed to end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.execute.simulate.kernel.sent import is_there
from orchestrator_core.execute.simulate.kernel.state import END, START, WORKER, State
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inlined

OVERDUE = 0.25
"""A unit that runs longer than believed is believed to run on for this part of its age."""


class Listing(NamedTuple):
    """A placement of what has not begun.

    Attributes:
        worker: (u,) where each unit is, or will be. end: (u,) seconds.
        free: (threads,) when each thread of each worker is free, seconds.
        first: (w + 1,) the first thread of each worker.
    """

    worker: Ints
    end: Floats
    free: Floats
    first: Ints


@inlined
def empty_listing(job: Job) -> Listing:
    u, w = len(job.mode), len(job.worker_threads)
    first = np.zeros(w + 1, dtype=np.int64)
    for worker in range(w):
        first[worker + 1] = first[worker] + job.worker_threads[worker]
    return Listing(np.empty(u, dtype=np.int64), np.empty(u), np.empty(first[w]), first)


@inlined
def list_rest(
    job: Job, s: State, believed: Floats, order: Ints, planned: Ints, stay: bool, found: Listing
) -> float:
    """Place what has not begun into `found`, in this order; when it ends, in seconds.

    Args:
        believed: (m, w) seconds. planned: (u,) workers, taken where another is no sooner.
        stay: is nothing to go elsewhere?
    """
    last = _take_begun(job, s, believed, found)
    for unit in order:
        if s.when[unit, START] < 0:
            worker = planned[unit]
            soonest = _end_on(job, s, believed, found, unit, worker)
            if not stay:
                for other in range(len(job.worker_threads)):
                    if other != planned[unit]:
                        end = _end_on(job, s, believed, found, unit, other)
                        if end < soonest:
                            worker, soonest = other, end
            _occupy(job, found, unit, worker, soonest)
            last = max(last, soonest)
    return last


@inlined
def _take_begun(job: Job, s: State, believed: Floats, found: Listing) -> float:
    """What has begun goes on as believed; the last end of it."""
    now = s.clock[0]
    found.free[:] = now
    last = now
    for unit in range(len(job.mode)):
        since = s.when[unit, START]
        if since >= 0:
            found.worker[unit] = s.unit[unit, WORKER]
            found.end[unit] = now
            if s.when[unit, END] > now:
                age = now - since
                seconds = believed[job.mode[unit], found.worker[unit]]
                end = since + seconds if age < seconds else now + OVERDUE * age
                _occupy(job, found, unit, found.worker[unit], end)
                last = max(last, end)
    return float(last)


@inlined
def _end_on(job: Job, s: State, believed: Floats, found: Listing, unit: int, worker: int) -> float:
    """When the unit would end on the worker, seconds; infinity where it cannot run."""
    seconds = believed[job.mode[unit], worker]
    if seconds == np.inf or job.threads[job.mode[unit]] > job.worker_threads[worker]:
        return np.inf
    start = _free_from(job, found, worker, job.threads[job.mode[unit]])
    start = max(start, job.release[unit])
    for k in range(job.in_ptr[unit], job.in_ptr[unit + 1]):
        start = max(start, _input_there(job, s, found, job.in_unit[k], worker))
    return float(start + seconds)


@inlined
def _input_there(job: Job, s: State, found: Listing, producer: int, worker: int) -> float:
    source, there = found.worker[producer], found.end[producer]
    if source != worker and not is_there(s, producer, worker):
        rate = job.encode[source, worker] + job.per_byte[source, worker]
        there += job.latency[source, worker] + job.size[producer] * rate
    return float(there)


@inlined
def _free_from(job: Job, found: Listing, worker: int, threads: int) -> float:
    """When so many threads of the worker are free."""
    begin, past = found.first[worker], found.first[worker + 1]
    if threads > 1:
        return float(np.partition(found.free[begin:past], threads - 1)[threads - 1])
    soonest = found.free[begin]
    for lane in range(begin + 1, past):
        soonest = min(soonest, found.free[lane])
    return float(soonest)


@inlined
def _occupy(job: Job, found: Listing, unit: int, worker: int, end: float) -> None:
    """The unit is on those threads of the worker that are free first."""
    found.worker[unit], found.end[unit] = worker, end
    for _ in range(job.threads[job.mode[unit]]):
        lane = found.first[worker]
        for other in range(lane + 1, found.first[worker + 1]):
            if found.free[other] < found.free[lane]:
                lane = other
        if found.free[lane] < end:
            found.free[lane] = end
