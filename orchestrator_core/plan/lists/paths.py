"""List heuristics that follow the longest paths through a task (stage 3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.ranks import (
    depth_first_order,
    downward_rank,
    ready_order,
    strict_ends,
    upward_rank,
)
from orchestrator_core.plan.lists.means import (
    harmonic_seconds,
    mean_link,
    mean_seconds,
    near_link,
    without_noise,
)
from orchestrator_core.plan.lists.one_worker import total_seconds
from orchestrator_core.plan.lists.rule import Rule, too_large


def cpop(problem: Problem) -> Iterator[Choice]:
    """Critical Path on a Processor: the critical path stays on the worker that runs it fastest.

    Topcuoglu, Hariri, Wu, 2002, as for HEFT. A task of the path that may not run there runs where
    it ends first. A second choice counts the way to a task as SAGA does: the task's own seconds in
    place of those of the first task, and transfers that may stay within a worker.
    """
    mean, link = mean_seconds(problem), mean_link(problem)
    through = upward_rank(problem, mean, *link) + downward_rank(problem, mean, *link)
    through = without_noise(through)
    yield _bound(problem, through, _heaviest_path(problem, through))
    near, first = near_link(problem), np.diff(problem.in_ptr) == 0
    later = np.where(first, 0.0, harmonic_seconds(problem))
    through = downward_rank(problem, later, *near) + later + upward_rank(problem, mean, *near)
    critical = np.isclose(through, through[first].max())
    yield _bound(problem, without_noise(through), np.flatnonzero(critical))


def dps(problem: Problem) -> Iterator[Choice]:
    """Decisive Path Scheduling: what the decisive path of each last task needs, depth first.

    G.-L. Park, B. Shirazi, J. Marquis, H. Choo: Decisive path scheduling: a new list scheduling
    method. ICPP 1997. A second choice is SAGA's reading: of all ready tasks the one whose longest
    path to the end exceeds the path that led to it, as scheduled, by most.
    """
    mean, link = mean_seconds(problem), mean_link(problem)
    through = without_noise(downward_rank(problem, mean, *link) + mean)
    yield Choice(depth_first_order(problem, through))
    if not too_large(problem):
        rank = upward_rank(problem, mean, *link)
        yield Rule(priority=1.0, past=-1.0).choice(problem, rank)


def msbc(problem: Problem) -> Iterator[Choice]:
    """Multiple Strict Bound Constraints: by strict bounds on each task's start and completion.

    C. S. Hwang, M. A. Tsai and others, in the reading of SAGA (PACRIM 2005, DOI
    10.1109/PACRIM.2005.1517309): the latest strict bound first, each where it starts first.
    """
    start, end = strict_ends(problem, best_seconds(problem))
    level = downward_rank(problem, mean_seconds(problem), 0.0, 0.0)
    yield Rule(priority=1.0, seconds=0.0).choice(problem, start + end + level)


def _bound(problem: Problem, through: Floats, path: Ints) -> Choice:
    """These tasks on the worker that runs them fastest, those that may run there."""
    seconds = best_seconds(problem)[path]
    chosen = int(np.argmin(total_seconds(seconds)))
    worker = np.full(problem.n_tasks, -1, dtype=np.int64)
    worker[path[np.isfinite(seconds[:, chosen])]] = chosen
    return Choice(ready_order(problem, through), worker=worker)


def _heaviest_path(problem: Problem, through: Floats) -> Ints:
    """A path from a first task to a last one, always to the consumer with the longest path."""
    sources = np.flatnonzero(np.diff(problem.in_ptr) == 0)
    path = [int(sources[np.argmax(through[sources])])]
    while problem.out_ptr[path[-1]] < problem.out_ptr[path[-1] + 1]:
        after = problem.out_task[problem.out_ptr[path[-1]] : problem.out_ptr[path[-1] + 1]]
        path.append(int(after[np.argmax(through[after])]))
    return np.array(path, dtype=np.int64)
