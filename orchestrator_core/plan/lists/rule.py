"""Rule: a list heuristic as weights, for the one kernel that runs them all (stage 3).

A list heuristic picks a ready task and a worker for it, again and again. What tells the heuristics
apart is how they weigh a few facts of the partial schedule; see J. Coleman, R. V. Agrawal, E.
Hirani, B. Krishnamachari: Parameterized task graph scheduling algorithm for comparing algorithmic
components, 2024, which takes HEFT, CPoP, MCT, Sufferage and others apart in this way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.engine.modes import best_seconds, over_modes
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.lists.means import mean_link
from orchestrator_core.plan.lists.partial import Weighing
from orchestrator_core.plan.lists.ready_list import by_ready_list

MOST_PAIRS = 100_000_000
"""Most pairs of tasks; beyond, looking at all ready tasks for each next one takes too long."""

MOST_THREADS = 256
"""A worker with more threads, or with as many as there are tasks, counts as one that has enough."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts, and how much. The highest urgency is picked, on the worker of the least price.

    Urgency of a ready task, on the worker that it would get: the sum of

        priority    its rank, times this
        finish      when it would end, times this
        second      when it would end on its second best worker, times this
        start       when it would start, times this
        past        the longest path to it as scheduled so far, with mean links, times this
        kth         its k-th smallest price over all workers, k ready tasks, times this

    Price of a worker for a task: the sum of

        begin       when the task would start there, times this
        seconds     its duration there, times this
        free        when the worker is free, times this
        ahead       what is given for each task and worker, once

    Ties go to the higher rank, then to the position in the topological order; among workers to the
    earlier end, then to the position in the cluster.

    Attributes:
        in_batches: tasks that become ready wait until all that were ready before are placed.
        two_workers: only the worker that is free first and the one that has the input that comes
            last are compared.
        from_makespan: a finish before the present makespan counts as the makespan.
    """

    priority: float = 0.0
    finish: float = 0.0
    second: float = 0.0
    start: float = 0.0
    past: float = 0.0
    kth: float = 0.0
    begin: float = 1.0
    seconds: float = 1.0
    free: float = 0.0
    in_batches: bool = False
    two_workers: bool = False
    from_makespan: bool = False

    def choice(self, problem: Problem, rank: Floats, ahead: Floats | None = None) -> Choice:
        """The heuristic's order and workers; (n,) rank, (n, w) seconds ahead.

        It decides with what it knows: one mode for each task and worker, the fastest, threads,
        transfers by their plain time. The decoder keeps all the rest, and never ends later where
        only single threads are scarce: by induction over the order no task starts later than here.
        """
        latency, per_byte = mean_link(problem)
        weighing = Weighing(
            seconds=best_seconds(problem),
            threads=frozen(_threads(problem)),
            lanes=frozen(_lanes(problem)),
            latency=latency,
            per_byte=per_byte,
            rank=frozen(rank),
            ahead=frozen(np.zeros((0, 0)) if ahead is None else ahead),
            urgency=(self.priority, self.finish, self.second, self.start, self.past, self.kth),
            price=(self.begin, self.seconds, self.free),
            in_batches=self.in_batches,
            two_workers=self.two_workers,
            from_makespan=self.from_makespan,
        )
        order, worker = by_ready_list(problem, weighing, frozen(self._order(problem, rank)))
        return Choice(order, worker=worker)

    def _order(self, problem: Problem, rank: Floats) -> Ints:
        """The order, if rank alone decides it; else empty."""
        others = (self.finish, self.second, self.start, self.past, self.kth)
        if self.in_batches or any(others):
            return np.zeros(0, dtype=np.int64)
        return ready_order(problem, rank)

    def batched(self) -> Rule:
        """The same, a batch of ready tasks at a time."""
        return replace(self, in_batches=True)


def too_large(problem: Problem) -> bool:
    """Would picking each task among all that are ready take too long?"""
    return problem.n_tasks**2 > MOST_PAIRS


def _threads(problem: Problem) -> Ints:
    """(n,) the fewest threads that the modes of each task take."""
    least = over_modes(problem, np.minimum, problem.threads)
    return np.asarray(least, dtype=np.int64)


def _lanes(problem: Problem) -> Ints:
    """(w,) how many threads are kept account of; 0 where there are enough of them."""
    threads = problem.worker_threads
    enough = (threads > MOST_THREADS) | (
        threads >= problem.threads.max(initial=1) * problem.n_tasks
    )
    return np.where(enough & (problem.n_tasks > 1), 0, threads).astype(np.int64)
