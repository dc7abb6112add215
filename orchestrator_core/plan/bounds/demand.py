"""Necessary tests: what must run within a window of time against what the workers can do in it.

The demand bound of Baruah, Mok and Rosier (1990), for several workers, release by heads and
deadlines by tails: every task that can start at `a` at the earliest and must end by `b` at the
latest does all of its work in [a, b]. Work is counted in thread-seconds on the workers where it is
least, separately for each set of workers that some tasks are confined to. Where that proves nothing
work is counted at prices of the workers (`priced_windows.py`), which is more where workers differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator_core.costs.feasible import earliest_ends
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.priced_windows import fullest_window
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.ranks import latest_ends

EXACT = 1e-9
"""Of a date, or 1 s: as exact as schedules are checked. Dates of a clock have not many more digits.
"""

SURE = 1e-7
"""By which part a window at prices is exceeded before it counts: schedules are checked as floats.
"""

SHOWN, DATES = 6, 8
"""Workers, and tasks with their deadlines, that are written out."""


@dataclass(frozen=True, slots=True)
class Overload:
    """More work than fits in a window.

    Attributes:
        units: single tasks that must run in it. workers: positions of those that can run them.
        begin, end: seconds. work, capacity: thread-seconds; if `priced`, seconds of all workers
            together, for work that takes no fewer wherever it runs.
    """

    units: Ints
    workers: Ints
    begin: float
    end: float
    work: float
    capacity: float
    priced: bool = False

    def told(self, instance: Instance) -> str:
        """In words."""
        window = f"between {self.begin:.6g} s and {self.end:.6g} s"
        if self.priced:
            return (
                f"wherever it runs, all workers together need {self.work:.6g} s for what has to be "
                f"done {window}"
            )
        return (
            f"{workers_in_words(instance, self.workers)} would have to do {self.work:.6g} "
            f"thread-seconds of work {window}, and can do {self.capacity:.6g}"
        )


def workers_in_words(instance: Instance, workers: Ints) -> str:
    """Some of them, by name."""
    names = [instance.cluster.names[w] for w in workers[:SHOWN].tolist()]
    more = f" and {len(workers) - SHOWN} more" if len(workers) > SHOWN else ""
    return f"worker {names[0]!r}" if len(workers) == 1 else f"workers {', '.join(names)}{more}"


def dates(instance: Instance, tasks: list[int]) -> str:
    """Some of the tasks with their deadlines, in words."""
    graph = instance.graph
    shown = [f"{graph.names[t]!r} ({graph.deadline[t]:.6g} s)" for t in sorted(tasks)[:DATES]]
    return ", ".join(shown) + (f" and {len(tasks) - DATES} more" if len(tasks) > DATES else "")


def overload(instance: Instance, seconds: float = np.inf) -> Overload | None:
    """The window that is overloaded most, or None; stops looking after so many wall seconds."""
    if not np.isfinite(instance.graph.deadline).any():
        return None
    until, worst = time.perf_counter() + seconds, None
    problem, shortest = expand(instance), instance.best_seconds
    head = (earliest_ends(instance.graph, shortest) - shortest)[problem.task]
    tail = latest_ends(problem, shortest[problem.task])
    each = least_work(instance)[problem.task]
    for members, workers in confined(instance):
        mine = np.flatnonzero(members[problem.task] & np.isfinite(tail))
        work = each[mine]
        threads = float(problem.worker_threads[workers].sum())
        found = _densest(head[mine], tail[mine], work, threads, until)
        if found is not None:
            begin, end, chosen = found
            room = threads * (end - begin)
            demand = Overload(mine[chosen], workers, begin, end, float(work[chosen].sum()), room)
            if worst is None or demand.work - demand.capacity > worst.work - worst.capacity:
                worst = demand
        if time.perf_counter() > until:
            break
    return worst or _at_prices(problem, head, tail)


def _at_prices(problem: Problem, head: Floats, latest: Floats) -> Overload | None:
    """What all workers together cannot do between the earliest starts and the latest ends."""
    dated = np.flatnonzero(np.isfinite(latest))
    if len(dated) == 0:
        return None
    last = float(latest[dated].max())
    tail = last - latest[dated]
    window = fullest_window(problem, head[dated], tail, dated)
    if window.seconds <= last * (1 + SURE):
        return None
    begin, end = window.head, last - window.tail
    inside = dated[(head[dated] >= begin) & (tail >= window.tail)]
    work, workers = window.seconds - begin - window.tail, np.arange(problem.n_workers)
    return Overload(inside, workers, begin, end, work, end - begin, priced=True)


def least_work(instance: Instance) -> Floats:
    """(tasks,) thread-seconds of each task where it takes the fewest."""
    each = (instance.seconds * instance.graph.mode_threads[:, None]).min(axis=1)
    return np.minimum.reduceat(each, instance.graph.mode_ptr[:-1])


def confined(instance: Instance) -> Iterator[tuple[NDArray[np.bool_], Ints]]:
    """(tasks that run only there, workers), for all workers and for each smaller set of them, those
    that belong to the most tasks first; there may be as many as tasks."""
    able = able_workers(instance)
    yield np.ones(len(able), dtype=np.bool_), np.arange(able.shape[1])
    sets, tasks = np.unique(able, axis=0, return_counts=True)
    for each in sets[np.argsort(-tasks, kind="stable")]:
        if not each.all():
            yield ~(able & ~each).any(axis=1), np.flatnonzero(each)


def able_workers(instance: Instance) -> NDArray[np.bool_]:
    """(tasks, w) may the task run there, in some mode?"""
    able = np.logical_or.reduceat(instance.eligible, instance.graph.mode_ptr[:-1], axis=0)
    return np.asarray(able, dtype=np.bool_)


def _densest(
    head: Floats, tail: Floats, work: Floats, threads: float, until: float
) -> tuple[float, float, NDArray[np.bool_]] | None:
    """(begin, end, members) of the window whose demand exceeds what fits by most; None if none."""
    worst, found = 0.0, None
    by_tail = np.argsort(tail, kind="stable")
    head, end, work = head[by_tail], tail[by_tail], work[by_tail]
    late = end + EXACT * np.maximum(1.0, end)
    for begin in np.unique(head):
        inside = head >= begin
        demand = np.cumsum(np.where(inside, work, 0.0))
        excess = np.where(demand > 0, demand * (1 - EXACT) - threads * (late - begin), 0.0)
        at = int(np.argmax(excess))
        if excess[at] > worst:
            worst, found = float(excess[at]), (float(begin), float(end[at]))
        if time.perf_counter() > until:
            break
    if found is None:
        return None
    begin, last = found
    members = np.zeros(len(head), dtype=np.bool_)
    members[by_tail] = (head >= begin) & (end <= last)
    return begin, last, members
