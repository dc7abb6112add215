"""The optimum of tiny instances by looking at everything: one thread each, one mode, no limits."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.engine.expand import Problem, expand


def smallest_makespan(instance: Instance, known: float) -> float:
    """The smallest makespan, at most `known`, that of some schedule. For about 8 tasks.

    Tasks are appended to workers in the order of their starts: each left-shifted schedule is met
    once. A branch is left when the shortest way on from some task does not beat what is known.
    """
    problem = expand(instance)
    return _Search(problem, known).least()


class _Search:
    def __init__(self, problem: Problem, known: float) -> None:
        n, w = problem.n_tasks, problem.n_workers
        self.n, self.w, self.best = n, w, known
        self.seconds = problem.seconds.tolist()
        ptr = problem.in_ptr
        self.inputs = [
            list(
                zip(
                    problem.in_task[ptr[t] : ptr[t + 1]].tolist(),
                    problem.in_bytes[ptr[t] : ptr[t + 1]].tolist(),
                    strict=True,
                )
            )
            for t in range(n)
        ]
        self.latency, self.per_byte = problem.latency.tolist(), problem.per_byte.tolist()
        self.tail = self._tails(problem)

    def _tails(self, problem: Problem) -> list[float]:
        """The shortest way from each task's start to the last end, without transfers."""
        tail = problem.seconds.min(axis=1)
        for t in problem.topological[::-1]:
            for k in range(problem.out_ptr[t], problem.out_ptr[t + 1]):
                way = problem.seconds[t].min() + tail[problem.out_task[k]]
                tail[t] = max(tail[t], way)
        return [float(value) for value in np.asarray(tail)]

    def least(self) -> float:
        self._go([-1] * self.n, [0.0] * self.n, [0.0] * self.w, 0.0, self.n)
        return self.best

    def _go(
        self, worker: list[int], end: list[float], free: list[float], last: float, left: int
    ) -> None:
        if left == 0:
            self.best = min(self.best, max(end))
            return
        for t in range(self.n):
            if worker[t] >= 0 or any(worker[q] < 0 for q, _ in self.inputs[t]):
                continue
            if last + self.tail[t] >= self.best - 1e-9:
                return  # it starts at `last` at the soonest, now or later
            for b in range(self.w):
                self._place(t, b, worker, end, free, last, left)

    def _place(
        self,
        t: int,
        b: int,
        worker: list[int],
        end: list[float],
        free: list[float],
        last: float,
        left: int,
    ) -> None:
        begin = free[b]
        for q, nbytes in self.inputs[t]:
            a = worker[q]
            way = 0.0 if a == b else self.latency[a][b] + nbytes * self.per_byte[a][b]
            begin = max(begin, end[q] + way)
        close = begin + self.seconds[t][b]
        if begin < last or max(close, begin + self.tail[t]) >= self.best - 1e-9:
            return
        worker[t], end[t], before = b, close, free[b]
        free[b] = close
        self._go(worker, end, free, begin, left - 1)
        worker[t], end[t], free[b] = -1, 0.0, before
