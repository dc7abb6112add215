"""What bounds say of the schedules that are not longer than the incumbent."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.loads import Load, loads
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import DIGITS, propagate, tightened
from orchestrator_core.plan.bounds.windows import fit
from orchestrator_core.plan.cpsat.expand import Reach, unit_keys
from orchestrator_core.plan.engine.expand import Problem, expand

NOISE = 1e-8
"""Relative: a schedule as long as the incumbent, rounding included, is not excluded."""


class HeadsAndTails:
    """Heads, tails and possible workers of n single tasks on w workers, while more is found out.

    Attributes:
        makespan: seconds; only of shorter schedules is anything said.
        head, tail: (n, w) seconds before the start, and from the end to the makespan, at least.
        seconds: (n, w) shortest duration; infinity where no such schedule has the task.
        possible: may there be any such schedule?
    """

    def __init__(self, problem: Problem, makespan: float) -> None:
        self.makespan, self._by_work = makespan, 0.0
        self._relaxation = Relaxation.of(problem)
        state = propagate(problem, makespan)
        self.possible = state is not None
        if state is not None:
            self._state = state
            self._renew()

    def _renew(self) -> None:
        self.head, self.tail = self._state.head, self._state.tail
        self.seconds = np.where(self._state.may, self._relaxation.seconds, np.inf)

    def raise_head(self, task: int, seconds: float) -> None:
        """It does not start before, on any worker."""
        self._raise(self.head, task, seconds)

    def raise_tail(self, task: int, seconds: float) -> None:
        """So much follows it at least, on any worker."""
        self._raise(self.tail, task, seconds)

    def _raise(self, values: Floats, task: int, seconds: float) -> None:
        if seconds >= self.makespan:
            self.possible = False
            return
        values[task] = np.maximum(values[task], seconds)
        self.possible &= tightened(self._relaxation, self._state) is not None
        if self.possible:
            self._renew()

    def shorten(self, makespan: float) -> None:
        """From now on only schedules shorter than this many seconds count."""
        self.makespan = self._state.upper = makespan
        self.possible &= tightened(self._relaxation, self._state) is not None
        if self.possible:
            self._renew()

    def loads(self) -> tuple[Load, ...]:
        """What work in windows says of any placement; `lower_bound` takes it into account."""
        known = self.lower_bound()
        if not self.possible or known <= 0:
            return ()
        everything = np.arange(len(self.head))
        claims = fit(self._relaxation, self._state, everything, known, self.makespan)
        self._by_work = max(self._by_work, min(self.makespan, claims.bound * (1 - DIGITS)))
        return loads(self._relaxation, self._state, claims, known)

    def through(self) -> Floats:
        """(n,) seconds of the longest path through each task, at least."""
        return np.asarray((self.head + self.seconds + self.tail).min(axis=1), dtype=np.float64)

    def lower_bound(self) -> float:
        """Seconds that no schedule is shorter than, or `makespan`."""
        if not self.possible:
            return self.makespan
        return max(self._by_work, self._state.lower_bound(self._relaxation))


def reach(instance: Instance, makespan: float) -> Reach | None:
    """What is known of schedules up to that long, by units; None if there are none."""
    problem = expand(instance)
    state = propagate(problem, makespan * (1 + NOISE))
    if state is None:
        return None
    position = {
        key: row
        for row, key in enumerate(
            zip(problem.task.tolist(), problem.instance.tolist(), strict=True)
        )
    }
    rows = [position[key] for key in unit_keys(instance)]
    may = state.may[rows]
    return Reach(np.where(may, state.head[rows], 0.0), np.where(may, state.tail[rows], 0.0), may)
