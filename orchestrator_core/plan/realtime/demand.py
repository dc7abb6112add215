"""Necessary tests: what must run within a window of time against what the workers can do in it.

The demand bound of Baruah, Mok and Rosier (1990), for several workers, release by heads and
deadlines by tails: every task that can start at `a` at the earliest and must end by `b` at the
latest does all of its work in [a, b]. Work is counted in thread-seconds on the workers where it is
least, separately for each set of workers that some tasks are confined to.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.feasible import earliest_ends
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.ranks import latest_ends


@dataclass(frozen=True, slots=True)
class Overload:
    """More work than fits in a window.

    Attributes:
        units: single tasks that must run in it. workers: positions of those that can run them.
        begin, end: seconds. work, capacity: thread-seconds.
    """

    units: Ints
    workers: Ints
    begin: float
    end: float
    work: float
    capacity: float


def overload(instance: Instance, seconds: float = np.inf) -> Overload | None:
    """The window that is overloaded most, or None; stops looking after so many wall seconds."""
    problem, shortest = expand(instance), instance.best_seconds
    best = shortest[problem.task]
    head = (earliest_ends(instance.graph, shortest) - shortest)[problem.task]
    tail = latest_ends(problem, best)
    until, worst = time.perf_counter() + seconds, None
    for members, workers in confined(instance):
        mine = np.flatnonzero(members[problem.task] & np.isfinite(tail))
        work = least_work(instance)[problem.task[mine]]
        threads = sum(instance.cluster.workers[w].threads for w in workers.tolist())
        found = _densest(head[mine], tail[mine], work, float(threads), until)
        if found is None:
            continue
        begin, end, chosen = found
        demand = Overload(
            mine[chosen], workers, begin, end, float(work[chosen].sum()), threads * (end - begin)
        )
        if worst is None or demand.work - demand.capacity > worst.work - worst.capacity:
            worst = demand
    return worst


def least_work(instance: Instance) -> Floats:
    """(tasks,) thread-seconds of each task where it takes the fewest."""
    each = (instance.seconds * instance.graph.mode_threads[:, None]).min(axis=1)
    return np.minimum.reduceat(each, instance.graph.mode_ptr[:-1])


def confined(instance: Instance) -> list[tuple[NDArray[np.bool_], Ints]]:
    """(tasks that run only there, workers), for all workers and for each smaller set of them."""
    able = np.logical_or.reduceat(instance.eligible, instance.graph.mode_ptr[:-1], axis=0)
    sets = np.unique(able, axis=0)
    everywhere = np.ones(len(instance.cluster), dtype=np.bool_)
    found = [(np.ones(len(able), dtype=np.bool_), np.flatnonzero(everywhere))]
    for each in sets:
        if not each.all():
            found.append((~(able & ~each).any(axis=1), np.flatnonzero(each)))
    return found


def _densest(
    head: Floats, tail: Floats, work: Floats, threads: float, until: float
) -> tuple[float, float, NDArray[np.bool_]] | None:
    """(begin, end, members) of the window whose demand exceeds what fits by most; None if none."""
    worst, found = 0.0, None
    by_tail = np.argsort(tail, kind="stable")
    head, end, work = head[by_tail], tail[by_tail], work[by_tail]
    for begin in np.unique(head):
        inside = head >= begin
        demand = np.cumsum(np.where(inside, work, 0.0))
        excess = np.where(demand > 0, demand - threads * (end - begin), 0.0)
        at = int(np.argmax(excess)) if len(excess) else 0
        if len(excess) and excess[at] > max(worst, 1e-9 * max(1.0, float(demand[at]))):
            worst, found = float(excess[at]), (float(begin), float(end[at]))
        if time.perf_counter() > until:
            break
    if found is None:
        return None
    begin, last = found
    members = np.zeros(len(head), dtype=np.bool_)
    members[by_tail] = (head >= begin) & (end <= last)
    return begin, last, members
