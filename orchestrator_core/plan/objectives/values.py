"""What a schedule is worth under each criterion, in plain NumPy: no compiled code, no planner.

makespan     seconds; the last end
tardiness    weighted seconds; ``weight * max(0, end - due)`` summed over all task instances that
             have a due date
price        money; for each worker its price times its *lease*: from its first use to its last.
             A worker is used by a task from start to end; by an output that it sends from the
             start of encoding to the arrival; by one that it receives from the end of encoding
             to the arrival. A worker that is not used costs nothing. So pays who rents machines
             by the second.
busy-price   money; each thread-second of a running task or of an encoding costs the worker's
             price over its threads. So pays who shares machines with others.
memory       bytes; the most that running tasks and held outputs take on any worker at any
             moment, as `check_schedule` counts them: an output is held from its end or arrival
             to its last use there
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.checks.capacity import memory_claims
from orchestrator_core.plan.checks.profile import highest
from orchestrator_core.plan.checks.rows import Rows, resolve
from orchestrator_core.plan.checks.times import pieces_of
from orchestrator_core.plan.checks.uses import uses_of
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Schedule

SECONDS_PER_HOUR = 3600.0
"""`Worker.price` is per hour."""


def evaluate(
    instance: Instance, schedule: Schedule, objective: Objective | str = "makespan"
) -> tuple[float, ...]:
    """The value of each criterion of the objective, the most important first; smaller is better.

    Raises:
        InvalidSchedule: if the schedule is of other tasks or workers. It need not keep all rules.
    """
    criteria = Objective.of(objective).criteria
    if criteria == ("makespan",):
        return (schedule.makespan,)
    rows = resolve(instance, schedule)
    return tuple(_CRITERIA[name](rows) for name in criteria)


def _makespan(rows: Rows) -> float:
    return rows.schedule.makespan


def _tardiness(rows: Rows) -> float:
    graph = rows.instance.graph
    has_due = np.isfinite(graph.due[rows.task])
    task = rows.task[has_due]
    late = np.maximum(0.0, rows.schedule.end[has_due] - graph.due[task])
    return float((graph.weight[task] * late).sum())


def leases(rows: Rows) -> tuple[Floats, Floats]:
    """(w,) first and last moment at which each worker is used; infinity and 0 where it is not."""
    s, w = rows.schedule, len(rows.instance.cluster)
    since, until = np.full(w, np.inf), np.zeros(w)
    uses: list[tuple[Ints, Floats, Floats]] = [
        (rows.worker, s.start, s.end),
        (rows.source, s.transfer_start, s.transfer_end),
        (rows.destination, s.transfer_encoded, s.transfer_end),
    ]
    for worker, begin, end in uses:
        np.minimum.at(since, worker, begin)
        np.maximum.at(until, worker, end)
    return since, until


def _price(rows: Rows) -> float:
    since, until = leases(rows)
    used = np.isfinite(since)
    return float((per_second(rows.instance.cluster)[used] * (until - since)[used]).sum())


def least_price(instance: Instance, schedule: Schedule) -> float:
    """What this placement costs at least, whenever its tasks run: no lease is shorter than the
    longest task of its worker, nor than its work shared among all threads."""
    rows = resolve(instance, schedule)
    workers, graph, s = instance.cluster.workers, instance.graph, schedule
    threads, pieces = np.array([worker.threads for worker in workers]), pieces_of(rows)
    worker = np.concatenate([rows.worker[pieces.row], rows.source])
    seconds = np.concatenate([pieces.end - pieces.start, s.transfer_encoded - s.transfer_start])
    taken = np.concatenate([graph.mode_threads[rows.mode[pieces.row]], np.ones(len(rows.source))])
    work = np.bincount(worker, taken * seconds, len(workers)) / threads
    longest = np.zeros(len(workers))
    np.maximum.at(longest, worker, seconds)
    return float((per_second(rows.instance.cluster) * np.maximum(work, longest)).sum())


def _busy_price(rows: Rows) -> float:
    graph, workers, s = rows.instance.graph, rows.instance.cluster.workers, rows.schedule
    per_thread = per_second(rows.instance.cluster) / np.array(
        [worker.threads for worker in workers]
    )
    pieces = pieces_of(rows)
    threads = graph.mode_threads[rows.mode[pieces.row]]
    running = per_thread[rows.worker[pieces.row]] * threads * (pieces.end - pieces.start)
    encoding = per_thread[rows.source] * (s.transfer_encoded - s.transfer_start)
    return float(running.sum() + encoding.sum())


def _memory(rows: Rows) -> float:
    return highest(memory_claims(rows, pieces_of(rows), uses_of(rows)), rows.eps)


def per_second(cluster: Cluster) -> Floats:
    """(w,) what each worker costs, in money for a second of its lease."""
    prices = np.array([worker.price for worker in cluster.workers])
    return np.asarray(prices / SECONDS_PER_HOUR, dtype=np.float64)


_CRITERIA: dict[str, Callable[[Rows], float]] = {
    "makespan": _makespan,
    "tardiness": _tardiness,
    "price": _price,
    "busy-price": _busy_price,
    "memory": _memory,
}
