"""How much work Dask's scheduler believes to be on workers."""

from __future__ import annotations

from orchestrator_core.execute.simulate.kernel.beliefs import GIVEN, OCCUPANCY, Books
from orchestrator_core.execute.simulate.kernel.job import Job
from orchestrator_core.plan.engine.compiled import inlined


@inlined
def mean_occupancy(job: Job, b: Books) -> float:
    """Believed seconds that wait for each thread."""
    occupancy, threads = 0.0, 0
    for worker in range(len(b.mark)):
        occupancy += b.load[worker, OCCUPANCY]
        threads += job.worker_threads[worker]
    return float(occupancy / threads)


@inlined
def unoccupied(job: Job, b: Books, worker: int, mean: float) -> bool:
    """`is_unoccupied`: fewer units than threads, or half of the mean occupancy."""
    threads = job.worker_threads[worker]
    if b.of[worker, GIVEN] < threads:
        return True
    return bool(b.load[worker, OCCUPANCY] < threads * mean / 2)


@inlined
def mark_unoccupied(job: Job, b: Books, mean: float) -> int:
    """Mark the workers that have little to do; how many there are."""
    count = 0
    for worker in range(len(b.mark)):
        b.mark[worker] = unoccupied(job, b, worker, mean)
        count += b.mark[worker]
    return count
