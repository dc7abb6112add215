"""Lower bounds: no schedule of the instance is shorter (stage 3). Every plan ships with one.

Three relaxations, of which the largest counts: paths with transfers but without limits on workers;
the work that workers must share, as a linear program; and the work in windows between the earliest
start and the latest end of the tasks. A bound from a linear program is taken from its multipliers
by summation, so that a solver's tolerance never makes it exceed the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.area import area_bound
from orchestrator_core.plan.bounds.paths import heads
from orchestrator_core.plan.engine.expand import Problem, expand, frozen
from orchestrator_core.plan.engine.modes import best_seconds, over_modes
from orchestrator_core.plan.engine.ranks import downward_rank, upward_rank

PATH_WORK = 20_000_000
"""Most edges x workers^2 for which paths count transfers; beyond, transfers are free."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven lower bound on the makespan, in seconds, and how it was proven."""

    seconds: float
    method: str


def lower_bound(instance: Instance) -> Bound:
    """The best of the cheap bounds; milliseconds for a hundred tasks."""
    try:
        problem = expand(instance)
    except UnsupportedInstance:
        return Bound(float(instance.best_seconds.max(initial=0.0)), "longest task")
    if problem.n_tasks == 0:
        return Bound(0.0, "no tasks")
    head, tail, paths = _paths(problem)
    area = area_bound(problem, head, tail, paths.seconds)
    if area.seconds > paths.seconds:
        return Bound(area.seconds, area.method)
    return paths


def _paths(problem: Problem) -> tuple[Floats, Floats, Bound]:
    """(heads, tails, the longest path); heads and tails are (n, w), or (n, 1) for any worker."""
    seconds = best_seconds(problem)
    w = problem.n_workers
    if len(problem.in_task) * w * w <= PATH_WORK:
        head, tail = _heads(problem, seconds), _tails(problem, seconds)
        through = (head + seconds + tail).min(axis=1)
        name = "critical path with transfers"
    else:
        shortest = seconds.min(axis=1)
        head = downward_rank(problem, shortest, 0.0, 0.0)[:, None]
        from_start = upward_rank(problem, shortest, 0.0, 0.0)
        tail = (from_start - shortest)[:, None]
        through = head[:, 0] + from_start
        name = "critical path"
    return head, tail, Bound(_down(float(through.max())), name)


def _heads(problem: Problem, seconds: Floats) -> Floats:
    return heads(
        problem.topological,
        problem.in_ptr,
        problem.in_task,
        problem.in_bytes,
        problem.output_bytes,
        problem.release,
        seconds,
        _work(problem),
        problem.latency,
        problem.per_byte,
        problem.encode,
    )


def _tails(problem: Problem, seconds: Floats) -> Floats:
    """Heads of the reversed graph. There the consumer's output is not what is encoded, so that
    encoding is counted with the bytes of the edge, of which the output is never less."""
    nothing = frozen(np.zeros(problem.n_tasks))
    return heads(
        frozen(problem.topological[::-1]),
        problem.out_ptr,
        problem.out_task,
        problem.out_bytes,
        nothing,
        nothing,
        seconds,
        _work(problem),
        frozen(problem.latency.T),
        frozen((problem.per_byte + problem.encode).T),
        problem.encode,
    )


def _work(problem: Problem) -> Floats:
    """(n, w) least thread-seconds of each task, over the worker's threads."""
    work = problem.seconds * problem.threads[:, None] / problem.worker_threads
    return np.asarray(over_modes(problem, np.minimum, work), dtype=np.float64)


def _down(seconds: float) -> float:
    """Less by what rounding may have added."""
    return seconds * (1.0 - 1e-12)
