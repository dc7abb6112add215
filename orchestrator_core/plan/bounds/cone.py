"""Cones: all that must happen before a task, or after it, when it runs on one worker (stage 3).

What a join waits for is a problem of its own: its ancestors, with tails up to the start of the
join in place of the schedule's end. So all bounds apply to it, and their value is a new head of the
join. This is what adds up the bounds of stages that a join separates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.relaxation import Relaxation, Side
from orchestrator_core.plan.bounds.state import DIGITS, State, tightened
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.bounds.windows import Claims, fit
from orchestrator_core.plan.engine.expand import frozen

ROUNDS = 6
"""Times that windows are sought in a cone, at most."""


@dataclass(frozen=True, slots=True)
class Cone:
    """The ancestors of a task, or its descendants.

    Attributes:
        task: its tip. forward: of ancestors, so that it bounds the head of the tip.
        relaxation: of the cone; backward in time for descendants.
        active: (n,) its tasks, the tip too. tasks: those without the tip.
    """

    task: int
    forward: bool
    relaxation: Relaxation
    active: Flags
    tasks: Ints

    @staticmethod
    def of(relaxation: Relaxation, task: int, forward: bool) -> Cone:
        """The cone of a task."""
        turned = relaxation if forward else _reversed(relaxation)
        active = _reached(turned.forward, task)
        tasks = np.flatnonzero(active)
        return Cone(task, forward, turned, active, tasks[tasks != task])

    def state(self, state: State, worker: int) -> State:
        """The cone's own state, with the tip on `worker` and its start as the schedule's end."""
        here = self.values(state)
        seconds = self.relaxation.seconds[self.task, worker]
        may = state.may & self.active[:, None]
        may[self.task] = False
        may[self.task, worker] = True
        tail = np.zeros_like(here)
        # The tip takes no time here, it only is the end.
        tail[self.task, worker] = -seconds
        n = len(tail)
        return State(self.limit(state, worker), here.copy(), tail, may, np.arange(n), self.active)

    def limit(self, state: State, worker: int) -> float:
        """Seconds that the tip waits for at most on a worker."""
        there = state.tail if self.forward else state.head
        seconds = self.relaxation.seconds[self.task, worker]
        return float(state.upper - seconds - there[self.task, worker])

    def values(self, state: State) -> Floats:
        """(n, w) heads or tails of a state: those that the cone can raise."""
        return state.head if self.forward else state.tail

    def bound(
        self, state: State, worker: int, limit: float, claims: Claims | None
    ) -> tuple[float, Claims | None]:
        """(seconds that the tip waits for on a worker, or `limit` if it must be as late; why).

        Args:
            limit: seconds; what is said holds for schedules in which the tip waits for less.
            claims: those of a similar cone, to begin with.
        """
        inside = self.state(state, worker)
        inside.upper = limit
        if limit <= 0 or tightened(self.relaxation, inside) is None:
            return limit, None
        known = max(inside.lower_bound(self.relaxation), inside.head[self.task, worker])
        if len(self.tasks) < 2 or known <= 0:
            return known, None
        found = fit(self.relaxation, inside, self.tasks, known, limit, claims, rounds=ROUNDS)
        return min(limit, max(known, found.bound * (1 - DIGITS))), found


def _reversed(relaxation: Relaxation) -> Relaxation:
    """Backward in time; deadlines are left out, for they count from the start."""
    never = frozen(np.full(len(relaxation.seconds), np.inf))
    return relaxation._replace(
        deadline=never, forward=relaxation.backward, backward=relaxation.forward
    )


def _reached(side: Side, task: int) -> Flags:
    """(n,) the task and all that comes before it."""
    active = np.zeros(len(side.order), dtype=np.bool_)
    active[task] = True
    stack = [task]
    while stack:
        t = stack.pop()
        for q in side.before[side.ptr[t] : side.ptr[t + 1]].tolist():
            if not active[q]:
                active[q] = True
                stack.append(q)
    return active
