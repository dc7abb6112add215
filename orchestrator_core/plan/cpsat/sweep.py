"""Sweep: windows over all tasks of a graph, one after the other, larger pass by pass.

Windows of a task's nearest ancestors raise its head, and on the reversed graph its tail. After
each of the two, bands as wide as the graph bound the makespan itself: the tasks that start last,
once their heads are known, and those that end first, or through which the longest paths go, once
their tails are. With the heads and tails of a pass a band of half of all tasks is often solved in
seconds; a band of all tasks is the instance itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import numpy as np

from orchestrator_core.plan.cpsat.reach import HeadsAndTails
from orchestrator_core.plan.cpsat.solving import NOTHING, PAUSE, Found, solved
from orchestrator_core.plan.cpsat.sub_dag import (
    Direction,
    SubDag,
    directions,
    nearest,
    solver_of,
)
from orchestrator_core.plan.engine.expand import Problem
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule

PASSES = ((12, 0.03, 0.1), (22, 0.1, 0.4), (30, 0.3, 1.5), (45, 2.0, 6.0), (60, 8.0, 1000.0))
"""(ancestors, deterministic work of a window, and of a band) pass by pass, forward and backward. A
unit of work was measured to be 8 seconds of these models; 12 ancestors take 0.005, 22 take 0.03,
34 take 0.1, a band of 45 tasks 0.1 to 0.3."""

KINDS = (("last",), ("first", "through"))
"""Of bands: those that live on the heads at their border, and those that need the tails, too."""

FIRST_BAND = 30
"""Tasks of the first band."""

WIDER = 1.4
"""By how much a band is larger than one that was solved."""

WHOLE = 60
"""Most tasks for which a band of all of them is tried before anything else."""

FIRST_WORK = 0.1
"""Deterministic work of that."""

WORK_PER_ITERATION = 1e-3
"""Deterministic units of work for each iteration of a budget: a thousand are about a second."""


class Sweep:
    """Passes over all tasks with larger and larger windows.

    Attributes:
        bound: seconds, proven. schedule: the best that a band of all tasks has given, or None.
        note: in words, how far it has come.
    """

    def __init__(self, problem: Problem, brief: Brief) -> None:
        assert brief.incumbent is not None
        self._problem, self._brief = problem, brief
        self._began = time.monotonic()
        steps = brief.budget.iterations
        self._pause = PAUSE if steps is None else None
        self._work = math.inf if steps is None else steps * WORK_PER_ITERATION
        self._settled: dict[tuple[int, bool], object] = {}
        self._known = HeadsAndTails(problem, brief.incumbent.makespan)
        self._band_sizes = dict.fromkeys(KINDS[0] + KINDS[1], min(FIRST_BAND, problem.n_tasks))
        self._through = False
        self.bound = self._known.lower_bound()
        self.schedule: Schedule | None = None
        self.solved, self.raised = 0, 0

    @property
    def note(self) -> str:
        return f"{self.solved} windows raised {self.raised} heads and tails"

    def steps(self) -> Iterator[None]:
        """One window after the other, until time is up or the bound meets the incumbent."""
        yield
        ways = directions(self._problem)
        if self._problem.n_tasks <= WHOLE:
            yield from self._band(ways[0], "through", self._problem.n_tasks, FIRST_WORK)
        for number, (most, work, of_bands) in enumerate(PASSES):
            for reverse in (False, True):
                for task in self._chosen(ways[reverse], reverse, every=number == 0):
                    if self._over():
                        return
                    yield from self._window(ways[reverse], task, reverse, most, work)
                    yield
                for kind in KINDS[reverse]:
                    yield from self._bands(ways[0], kind, of_bands)

    def _over(self) -> bool:
        budget, incumbent = self._brief.budget, self._brief.incumbent
        if self._through or not self._known.possible:
            return True
        if incumbent is not None:
            if incumbent.makespan < self._known.makespan:
                self._known.shorten(incumbent.makespan)
            if incumbent.makespan <= self.bound * (1 + budget.gap + 1e-9):
                return True
        if budget.iterations is not None:
            return self._work <= 0
        return time.monotonic() - self._began >= budget.seconds

    def _chosen(self, way: Direction, reverse: bool, every: bool) -> list[int]:
        """The tasks whose windows are solved, each after those before it: all with several inputs
        (what is known of a single input says all), or only those of whose inputs none is chosen.
        What windows say of one layer, propagation says of the next."""
        order: list[int] = self._problem.topological.tolist()
        chosen: dict[int, None] = {}
        for task in order[::-1] if reverse else order:
            before = way.before[way.ptr[task] : way.ptr[task + 1]].tolist()
            if len(before) > 1 and (every or not any(t in chosen for t in before)):
                chosen[task] = None
        return list(chosen)

    def _window(
        self, way: Direction, task: int, reverse: bool, most: int, work: float
    ) -> Generator[None, None, None]:
        """Solve one, unless nothing is new since the last time."""
        known = self._known
        head, tail = (known.tail, known.head) if reverse else (known.head, known.tail)
        tasks = nearest(way, task, (head + known.seconds).min(axis=1), most)
        state = (tuple(tasks), head[tasks].tobytes())
        if self._settled.get((task, reverse)) == state:
            return
        around = [*tasks, task]
        makespan = known.makespan
        sub = SubDag(self._problem, way, around, head, known.seconds, tail, makespan, task)
        least = float(head[task][np.isfinite(known.seconds[task])].min())
        found = yield from self._solve(sub, least, work)
        if found.optimal:
            self._settled[task, reverse] = state
        if found.seconds > least * (1 + 1e-6):
            self._raise(task, reverse, found.seconds)

    def _bands(self, way: Direction, kind: str, work: float) -> Generator[None, None, None]:
        """Larger and larger ones, until one is not solved with so much work."""
        while not self._over():
            size = self._band_sizes[kind]
            if not (yield from self._band(way, kind, size, work)):
                break
            self._band_sizes[kind] = min(self._problem.n_tasks, math.ceil(WIDER * size))

    def _band(
        self, way: Direction, kind: str, size: int, work: float
    ) -> Generator[None, None, bool]:  # fmt: skip
        """Bound the makespan by so many tasks; was the model solved to its optimum?"""
        known = self._known
        loads = known.loads()
        self.bound = max(self.bound, known.lower_bound())
        if self._over():
            return True
        tasks = self._widest(kind, size)
        arrays = (known.head, known.seconds, known.tail, known.makespan)
        sub = SubDag(self._problem, way, tasks, *arrays, None, self.bound)
        for load in loads:
            sub.add_load(load)
        found = yield from self._solve(sub, self.bound, work)
        self.bound = max(self.bound, min(found.seconds, known.makespan))
        self._through |= found.optimal and sub.whole
        return found.optimal

    def _widest(self, kind: str, size: int) -> list[int]:
        """The tasks of a band: those that start last, end first, or lie on the longest paths."""
        known = self._known
        may = np.isfinite(known.seconds)
        key = {
            "through": known.through(),
            "last": np.where(may, known.head, np.inf).min(axis=1),
            "first": np.where(may, known.tail, np.inf).min(axis=1),
        }[kind]
        chosen: list[int] = np.argsort(-key, kind="stable")[:size].tolist()
        return chosen

    def _solve(self, sub: SubDag, least: float, work: float) -> Generator[None, None, Found]:
        """Solve a window or a band within these limits."""
        solver = solver_of(self._left(), min(work, self._work))
        if sub.whole:
            read = partial(self._placed, sub)
            found = yield from solved(sub, solver, least, self._pause, read, self._offer)
        else:
            found = yield from solved(sub, solver, least, self._pause)
        self._work -= found.work
        self.solved += 1
        return found

    def _placed(self, sub: SubDag, value: Callable[[Any], int]) -> Schedule:
        """The schedule of a solution, its times found anew; nothing where other rules forbid it."""
        schedule = place(self._brief.instance, sub.choice(value))
        return NOTHING if isinstance(schedule, str) else schedule

    def _offer(self, schedule: Schedule) -> None:
        known = [each.makespan for each in (self.schedule, self._brief.incumbent) if each]
        if schedule is not NOTHING and schedule.makespan < min(known):
            self.schedule = schedule

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
