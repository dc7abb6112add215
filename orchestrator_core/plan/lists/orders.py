"""The list heuristics of the field, each as a function from a problem to choices (stage 3).

Each docstring names the paper. All of them end in the same decoder, so that threads, encoding,
memory, resources, modes and releases are kept by each of them alike. Ties go to the task that comes
first in the topological order, and to the worker that comes first in the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.modes import best_seconds, over_modes
from orchestrator_core.plan.engine.ranks import (
    depth_first_order,
    downward_rank,
    latest_ends,
    optimistic_cost,
    ready_order,
    upward_rank,
)

SERIAL_TRIALS = 1_000_000
"""`serial` tries every worker while tasks x workers x workers is at most this."""


def heft(problem: Problem) -> Iterator[Choice]:
    """Heterogeneous Earliest Finish Time: by upward rank of mean durations.

    H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for
    heterogeneous computing. IEEE TPDS 13(3), 2002.
    """
    yield _by_upward_rank(problem, mean_seconds(problem))


def heft_min(problem: Problem) -> Iterator[Choice]:
    """HEFT with each task's shortest duration.

    H. Zhao, R. Sakellariou: An experimental investigation into the rank function of the
    heterogeneous earliest finish time scheduling algorithm. Euro-Par 2003.
    """
    yield _by_upward_rank(problem, best_seconds(problem).min(axis=1))


def heft_max(problem: Problem) -> Iterator[Choice]:
    """HEFT with each task's longest duration (Zhao and Sakellariou, Euro-Par 2003)."""
    seconds = best_seconds(problem)
    longest = np.max(seconds, axis=1, where=np.isfinite(seconds), initial=0.0)
    yield _by_upward_rank(problem, longest)


def peft(problem: Problem) -> Iterator[Choice]:
    """Predict Earliest Finish Time: by, and looking ahead with, the optimistic cost table.

    H. Arabnejad, J. G. Barbosa: List scheduling algorithm for heterogeneous systems by an
    optimistic cost table. IEEE TPDS 25(3), 2014.
    """
    table = optimistic_cost(problem, best_seconds(problem), *mean_link(problem))
    priority = _without_noise(table.mean(axis=1))
    yield Choice(ready_order(problem, priority), ahead=table)


def cpop(problem: Problem) -> Iterator[Choice]:
    """Critical Path on a Processor: the critical path stays on the worker that runs it fastest.

    Topcuoglu, Hariri, Wu, 2002, as for HEFT. A task of the path that may not run there runs where
    it ends first.
    """
    mean, link = mean_seconds(problem), mean_link(problem)
    through = upward_rank(problem, mean, *link) + downward_rank(problem, mean, *link)
    through = _without_noise(through)
    path = _heaviest_path(problem, through)
    seconds = best_seconds(problem)[path]
    chosen = int(np.argmin(_total(seconds)))
    worker = np.full(problem.n_tasks, -1, dtype=np.int64)
    worker[path[np.isfinite(seconds[:, chosen])]] = chosen
    yield Choice(ready_order(problem, through), worker=worker)


def dps(problem: Problem) -> Iterator[Choice]:
    """Decisive Path Scheduling: what the decisive path of each last task needs, depth first.

    G.-L. Park, B. Shirazi, J. Marquis, H. Choo: Decisive path scheduling: a new list scheduling
    method. ICPP 1997.
    """
    mean, link = mean_seconds(problem), mean_link(problem)
    through = _without_noise(downward_rank(problem, mean, *link) + mean)
    yield Choice(depth_first_order(problem, through))


def edf(problem: Problem) -> Iterator[Choice]:
    """Earliest deadline first, with deadlines tightened to what later tasks need.

    J. R. Jackson: Scheduling a production line to minimize maximum tardiness, 1955; the tightening
    is that of E. L. Lawler, 1973. Without deadlines there is nothing to order by, and no choice.
    """
    if np.isfinite(problem.deadline).any():
        latest = latest_ends(problem, best_seconds(problem).min(axis=1))
        rank = upward_rank(problem, mean_seconds(problem), *mean_link(problem))
        # Among tasks without a deadline, by rank: any of them comes after all that have one.
        known = np.isfinite(latest)
        far = float(latest[known].max()) + float(rank.max()) + 1.0
        yield Choice(ready_order(problem, np.where(known, -latest, rank - far)))


def serial(problem: Problem) -> Iterator[Choice]:
    """Everything on one worker: no transfers; best where they cost far more than work.

    Tasks that may not run there run where they end first. The baseline of Topcuoglu's speed-up.
    """
    order = next(heft(problem)).order
    seconds = best_seconds(problem)
    workers = np.argsort(_total(seconds), kind="stable")
    if problem.n_tasks * problem.n_workers**2 > SERIAL_TRIALS:
        workers = workers[:1]
    for b in workers:
        yield Choice(order, worker=np.where(np.isfinite(seconds[:, b]), b, -1))


def mean_seconds(problem: Problem) -> Floats:
    """(n,) mean duration over the modes and workers that the task may have."""
    eligible = np.isfinite(problem.seconds)
    total = np.sum(problem.seconds, axis=1, where=eligible)
    number = over_modes(problem, np.add, eligible.sum(axis=1))
    return np.asarray(over_modes(problem, np.add, total) / number, dtype=np.float64)


def mean_link(problem: Problem) -> tuple[float, float]:
    """(latency, seconds per byte) of a transfer, as means over all pairs of workers."""
    w = problem.n_workers
    pairs = max(1, w * (w - 1))
    per_byte = problem.per_byte.sum() + problem.encode.sum()
    return float(problem.latency.sum()) / pairs, float(per_byte) / pairs


def _by_upward_rank(problem: Problem, seconds: Floats) -> Choice:
    rank = upward_rank(problem, seconds, *mean_link(problem))
    position = np.empty(problem.n_tasks, dtype=np.int64)
    position[problem.topological] = np.arange(problem.n_tasks)
    return Choice(np.lexsort((position, -_without_noise(rank))).astype(np.int64))


def _without_noise(values: Floats) -> Floats:
    """Rounded to twelve digits of the largest, so that ties are ties and not rounding errors."""
    largest = float(np.abs(values).max(initial=0.0))
    return np.round(values / largest, 12) if largest > 0 else values


def _heaviest_path(problem: Problem, through: Floats) -> Ints:
    """A path from a first task to a last one, always to the consumer with the longest path."""
    sources = np.flatnonzero(np.diff(problem.in_ptr) == 0)
    path = [int(sources[np.argmax(through[sources])])]
    while problem.out_ptr[path[-1]] < problem.out_ptr[path[-1] + 1]:
        after = problem.out_task[problem.out_ptr[path[-1]] : problem.out_ptr[path[-1] + 1]]
        path.append(int(after[np.argmax(through[after])]))
    return np.array(path, dtype=np.int64)


def _total(seconds: Floats) -> Floats:
    """(w,) seconds of all tasks on each worker; first come those that may run the most of them."""
    eligible = np.isfinite(seconds)
    total = np.sum(seconds, axis=0, where=eligible)
    return np.asarray(total + (~eligible).sum(axis=0) * (total.sum() + 1.0), dtype=np.float64)
