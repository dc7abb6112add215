"""Two workers exchange all their tasks: where the search on lanes may begin, too (stage 3).

Where everything is on one worker of several that are as fast, or a group of tasks on one of them,
no single task can follow its data to a worker with better links: each move alone pays for the way
there. All together pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.alike import classes
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.search.lane_engine import LaneEngine, Solution

MOST_TRIED = 64
"""Pairs of workers that are looked at."""

MOST_KEPT = 2
"""Exchanges from which a search begins."""


def exchanges(engine: LaneEngine) -> list[Solution]:
    """Exchanges in the best solution that make it no worse, the best ones first.

    The engine is left at one of them.
    """
    limit, found = engine.best, []
    for count, solution in enumerate(_exchanged(engine.problem, engine.best_solution())):
        if count == MOST_TRIED:
            break
        value = engine.begin(solution)
        if value <= limit:
            found.append((value, solution))
    found.sort(key=lambda each: each[0])
    return [solution for _, solution in found[:MOST_KEPT]]


def _exchanged(problem: Problem, solution: Solution) -> Iterator[Solution]:
    """The solution with the tasks of two workers exchanged, where they may run there; not of two
    that are alike, since that changes nothing."""
    seconds, place = best_seconds(problem), solution.place
    used, each = np.unique(place), np.arange(len(place))
    number = _numbers(problem, seconds)
    for a in used.tolist():
        for b in range(problem.n_workers):
            if a == b or (b < a and b in used) or number[a] == number[b]:
                continue
            to = np.where(place == a, b, np.where(place == b, a, place))
            to = np.where(np.isfinite(seconds[each, to]), to, place)
            yield Solution(solution.order, to, np.full(len(place), -1, dtype=np.int64))


def _numbers(problem: Problem, seconds: Floats) -> Ints:
    """(w,) the same number for workers that differ by nothing but their names."""
    number = np.empty(problem.n_workers, dtype=np.int64)
    links = (problem.latency, problem.per_byte)
    for k, members in enumerate(classes(problem.worker_threads.tolist(), seconds, links)):
        number[members] = k
    return number
