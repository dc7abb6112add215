"""Sweep: windows over all tasks of a graph, one after the other, larger pass by pass."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from orchestrator_core.plan.cpsat.reach import HeadsAndTails
from orchestrator_core.plan.cpsat.sub_dag import (
    Direction,
    Found,
    SubDag,
    directions,
    nearest,
    solved,
)
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.planner import Brief

PASSES = ((10, 0.03), (20, 0.1), (28, 0.4), (40, 2.0))
"""(ancestors, deterministic work) of the windows, pass by pass over all tasks, forward and
backward. A unit of work was measured to be 8 seconds of these models; 20 ancestors take 0.02."""

CROSSINGS = 4
"""Windows to both sides of a task, at the end of each pass."""

WORK_PER_ITERATION = 1e-3
"""Deterministic units of work for each iteration of a budget: a thousand are about a second."""


class Sweep:
    """Passes over all tasks with larger and larger windows.

    Attributes:
        bound: seconds, proven. note: in words, how far it has come.
    """

    def __init__(self, problem: Problem, brief: Brief) -> None:
        assert brief.incumbent is not None
        self._problem, self._brief = problem, brief
        self._began = time.monotonic()
        steps = brief.budget.iterations
        self._work = math.inf if steps is None else steps * WORK_PER_ITERATION
        self._settled: dict[tuple[int, bool], object] = {}
        self._known = HeadsAndTails(problem, brief.incumbent.makespan)
        self.bound = self._known.lower_bound()
        self.solved, self.raised = 0, 0

    @property
    def note(self) -> str:
        return f"{self.solved} windows raised {self.raised} heads and tails"

    def steps(self) -> Iterator[None]:
        """One window after the other, until time is up or the bound meets the incumbent."""
        yield
        ways = directions(self._problem)
        for most, work in PASSES:
            for reverse in (False, True):
                for task in self._order(reverse):
                    if self._over():
                        return
                    self._window(ways[reverse], task, reverse, most, work)
                    yield
            for task in self._longest():
                if self._over():
                    return
                self._cross(ways, task, most, work)
                yield

    def _over(self) -> bool:
        budget = self._brief.budget
        incumbent = self._brief.incumbent
        if incumbent is not None and incumbent.makespan <= self.bound * (1 + budget.gap + 1e-9):
            return True
        if not self._known.possible:
            return True
        if budget.iterations is not None:
            return self._work <= 0
        return time.monotonic() - self._began >= budget.seconds

    def _order(self, reverse: bool) -> list[int]:
        order: list[int] = self._problem.topological.tolist()
        return order[::-1] if reverse else order

    def _window(self, way: Direction, task: int, reverse: bool, most: int, work: float) -> None:
        """Solve one, unless it is a task with one input, whose head its input's head says, or
        unless nothing is new since the last time."""
        if way.ptr[task + 1] - way.ptr[task] < 2:
            return
        known = self._known
        head, tail = (known.tail, known.head) if reverse else (known.head, known.tail)
        tasks = nearest(way, task, (head + known.seconds).min(axis=1), most)
        state = (tuple(tasks), head[tasks].tobytes())
        if self._settled.get((task, reverse)) == state:
            return
        sub = SubDag(
            self._problem, way, [*tasks, task], head, known.seconds, tail, known.makespan, task
        )
        least = float(head[task][np.isfinite(known.seconds[task])].min())
        found = self._solve(sub, least, work)
        if found.optimal:
            self._settled[task, reverse] = state
        if found.seconds > least * (1 + 1e-6):
            self._raise(task, reverse, found.seconds)

    def _solve(self, sub: SubDag, least: float, work: float) -> Found:
        found = solved(sub, least, self._left(), min(work, self._work))
        self._work -= found.work
        self.solved += 1
        return found

    def _longest(self) -> list[int]:
        """The tasks through which the longest paths go: those that hold the bound down."""
        return np.argsort(-self._known.through(), kind="stable")[:CROSSINGS].tolist()  # type: ignore[no-any-return]

    def _cross(self, ways: tuple[Direction, Direction], task: int, most: int, work: float) -> None:
        """A window to both sides of a task bounds the makespan itself: its head and its tail are
        each the least possible, but seldom both at once."""
        known = self._known
        before = nearest(ways[0], task, (known.head + known.seconds).min(axis=1), most // 2)
        after = nearest(ways[1], task, (known.tail + known.seconds).min(axis=1), most // 2)
        tasks = [*before, task, *after]
        sub = SubDag(
            self._problem,
            ways[0],
            tasks,
            known.head,
            known.seconds,
            known.tail,
            known.makespan,
            None,
        )
        found = self._solve(sub, self.bound, 4 * work)
        self.bound = max(self.bound, min(found.seconds, known.makespan))
        self._known.possible &= found.seconds < known.makespan

    def _raise(self, task: int, reverse: bool, seconds: float) -> None:
        self.raised += 1
        if reverse:
            self._known.raise_tail(task, seconds)
        else:
            self._known.raise_head(task, seconds)
        self.bound = max(self.bound, self._known.lower_bound())

    def _left(self) -> float:
        """Seconds of the budget; where it counts steps, they guard against a hang only."""
        if self._brief.budget.iterations is not None:
            return 600.0
        return max(0.0, self._brief.budget.seconds - (time.monotonic() - self._began))
