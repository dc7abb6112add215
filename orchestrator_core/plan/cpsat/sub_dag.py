"""How early a task can start, by an exact model of it and its nearest ancestors (bound B9); or how
short a schedule can be, by one of a task, its nearest ancestors and its nearest descendants.

Whatever else there is to do is left out, so the optimum is a lower bound in the whole; what was
found out before enters as earliest starts. Transfers take their time, encodings and the tasks'
threads too; memory, resources, stock and deadlines are left out. On the reversed graph the same
gives how much must follow a task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.loads import Load
from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem

TICKS = 10**11
"""In the makespan; what is lost by rounding down is a tick for each task of a chain, so that the
optimum of a model of all tasks is the true one but for noise."""


@dataclass(frozen=True, slots=True)
class Direction:
    """The graph, or the graph reversed; n single tasks, w workers.

    Attributes:
        ptr, before: tasks before t are ``before[ptr[t] : ptr[t + 1]]``.
        delay: (e, w, w) seconds from the end of the task before to the start of the one after, by
            their workers, in this order.
    """

    ptr: Ints
    before: Ints
    delay: Floats


def directions(problem: Problem) -> tuple[Direction, Direction]:
    """Forward and reversed."""

    def delay(producer: Ints, nbytes: Floats) -> Floats:
        way = problem.latency + nbytes[:, None, None] * problem.per_byte
        ways = way + problem.output_bytes[producer][:, None, None] * problem.encode
        diagonal = np.arange(problem.n_workers)
        ways[:, diagonal, diagonal] = 0.0
        return ways

    into = delay(problem.in_task, problem.in_bytes)
    producer = np.repeat(np.arange(problem.n_tasks), np.diff(problem.out_ptr))
    out = delay(producer, problem.out_bytes).transpose(0, 2, 1)
    return (
        Direction(problem.in_ptr, problem.in_task, into),
        Direction(problem.out_ptr, problem.out_task, out),
    )


def nearest(way: Direction, task: int, ends: Floats, most: int) -> list[int]:
    """Of the tasks that come before `task`, those with the latest earliest ends (n,)."""
    found: set[int] = set()
    left = [task]
    while left:
        t = left.pop()
        fresh = set(way.before[way.ptr[t] : way.ptr[t + 1]].tolist()) - found
        found |= fresh
        left += fresh
    return sorted(found, key=lambda t: (-ends[t], t))[:most]


class SubDag:
    """The model of some tasks, in ticks that round down; it minimises the start of one of them, or
    the makespan."""

    def __init__(
        self,
        problem: Problem,
        way: Direction,
        tasks: list[int],
        head: Floats,
        seconds: Floats,
        tail: Floats,
        makespan: float,
        target: int | None,
        least: float = 0.0,
    ) -> None:
        """
        Args:
            target: one of the tasks, of which the start is minimised, while it takes no worker's
                time itself; None for the makespan.
            head, seconds, tail: (n, w); infinite seconds where a task may not run.
            makespan: seconds within which all starts lie.
            least: seconds, known of what is minimised.
        """
        self.cp = cp_model.CpModel()
        self.tick = makespan / TICKS
        self._problem, self._way, self._tasks = problem, way, tasks
        self._head, self._seconds, self._tail = head, seconds, tail
        self._target, self._least = target, least
        self._starts: dict[int, Any] = {}
        self._ends: dict[int, Any] = {}
        self._on: dict[int, dict[int, Any]] = {}
        for t in tasks:
            self._add_task(t)
        self._add_workers()
        for edge, t in self._edges():
            self._add_delay(int(way.before[edge]), t, way.delay[edge])
        self._goal = self._makespan() if target is None else self._starts[target]
        self.cp.minimize(self._goal)

    def add_load(self, load: Load) -> None:
        """The makespan is not below what the load says; what is left out counts where it is least.

        A model of the makespan only.
        """
        outside = np.ones(len(self._seconds), dtype=np.bool_)
        outside[self._tasks] = False
        prices = np.where(np.isfinite(self._seconds), load.price, np.inf)
        least = self._floor(load.least + float(prices[outside].min(axis=1).sum()))
        terms = [
            ticks * x
            for t in self._tasks
            for w, x in self._on[t].items()
            if (ticks := self._floor(load.price[t, w])) > 0
        ]
        self.cp.add(self._goal >= least + sum(terms))

    @property
    def whole(self) -> bool:
        """Is it a model of all tasks and their makespan?"""
        return self._target is None and len(self._tasks) == len(self._seconds)

    def choice(self, value: Callable[[Any], int]) -> Choice:
        """Where the tasks run in a solution, in the order of their starts; for a model of all."""
        starts = np.array([value(self._starts[t]) for t in range(len(self._seconds))])
        place = np.argmax(self._taken(value), axis=1)
        position = np.empty(len(starts), dtype=np.int64)
        position[self._problem.topological] = np.arange(len(starts))
        return Choice(np.lexsort((position, starts)), worker=place)

    def _taken(self, value: Callable[[Any], int]) -> NDArray[np.int64]:
        """(n, w) 1 where a task runs."""
        taken = np.zeros(self._seconds.shape, dtype=np.int64)
        for t, on in self._on.items():
            taken[t, list(on)] = [value(x) for x in on.values()]
        return taken

    def _floor(self, seconds: float) -> int:
        return math.floor(seconds / self.tick * (1 - 1e-12))

    def _add_task(self, t: int) -> None:
        """Somewhere, after its head there, for its duration there."""
        workers = np.flatnonzero(np.isfinite(self._seconds[t])).tolist()
        on = {w: self.cp.new_bool_var("") for w in workers}
        self.cp.add_exactly_one(on.values())
        heads = {w: self._floor(self._head[t, w]) for w in workers}
        low = min(heads.values())
        rest = min(self._floor(self._seconds[t, w] + self._tail[t, w]) for w in workers)
        start = self.cp.new_int_var(low, max(low, TICKS - rest), "")
        end = self.cp.new_int_var(0, 2 * TICKS, "")
        lengths = {w: self._floor(self._seconds[t, w]) for w in workers}
        self.cp.add(end == start + sum(lengths[w] * x for w, x in on.items()))
        if len(set(heads.values())) > 1:
            self.cp.add(start >= sum(heads[w] * x for w, x in on.items()))
        self._starts[t], self._ends[t], self._on[t] = start, end, on

    def _add_workers(self) -> None:
        """At every moment: threads of the tasks that run on a worker <= its threads."""
        p = self._problem
        threads = {t: int(p.threads[p.mode_begin[t] : p.mode_end[t]].min()) for t in self._tasks}
        for w in range(p.n_workers):
            here = [t for t in self._tasks if t != self._target and w in self._on[t]]
            supply, demands = int(p.worker_threads[w]), [threads[t] for t in here]
            if sum(demands) <= supply:
                continue
            lengths = {t: ticks for t in here if (ticks := self._floor(self._seconds[t, w])) > 0}
            intervals = [
                self.cp.new_optional_fixed_size_interval_var(
                    self._starts[t], ticks, self._on[t][w], ""
                )
                for t, ticks in lengths.items()
            ]
            demands = [threads[t] for t in lengths]
            if all(2 * each > supply for each in demands):
                self.cp.add_no_overlap(intervals)
            else:
                self.cp.add_cumulative(intervals, demands, supply)

    def _makespan(self) -> Any:
        """makespan >= end + tail of each task."""
        makespan = self.cp.new_int_var(min(TICKS, self._floor(self._least)), TICKS, "")
        for t in self._tasks:
            tails = [(self._floor(self._tail[t, w]), x) for w, x in self._on[t].items()]
            self.cp.add(makespan >= self._ends[t] + sum(q * x for q, x in tails if q > 0))
        return makespan

    def _edges(self) -> Iterator[tuple[int, int]]:
        """(edge, task after it) between two of the tasks."""
        inside = set(self._tasks)
        for t in self._tasks:
            for edge in range(int(self._way.ptr[t]), int(self._way.ptr[t + 1])):
                if int(self._way.before[edge]) in inside:
                    yield edge, t

    def _add_delay(self, one: int, other: int, delay: Floats) -> None:
        """start(other) >= end(one) + the delay from its worker to the other's."""
        start, end = self._starts[other], self._ends[one]
        self.cp.add(start >= end)
        for a, here in self._on[one].items():
            terms = [
                ticks * there
                for b, there in self._on[other].items()
                if b != a and (ticks := min(TICKS + 1, self._floor(delay[a, b]))) > 0
            ]
            if terms:
                self.cp.add(start >= end + sum(terms)).only_enforce_if(here)


def solver_of(seconds: float, work: float) -> cp_model.CpSolver:
    """A solver for one of the models, with these limits: wall seconds, deterministic work.

    Linear programs, probing and symmetries cost here more than they bring: with 20 ancestors the
    same optima took 0.17 s without them and 1.2 s with them.
    """
    solver = new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.max_deterministic_time = work
    return solver
