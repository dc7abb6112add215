"""LocalSearch: an iterated local search over order and placement (stage 3).

It begins with the incumbent, changes the places and priorities of a few tasks, mostly critical
ones, and decodes again, some ten thousand times a second at 100 tasks. The moves are those of
iterated local search for scheduling with communication (Lourenço, Martin, Stützle 2003); a falling
temperature lets it pass worse schedules.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.decoder import Choice, only_threads
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.moves import search

ROUND_STEPS = 20_000
"""Decoded tasks in one compiled round, after which the clock is read: about 10 ms."""


@dataclass(frozen=True, slots=True)
class LocalSearch:
    """Betters an incumbent for a part of the budget.

    Attributes:
        share: part of the seconds that are left which it takes, in (0, 1].
        largest: most task instances; beyond, a round is too long to keep a budget.
        hottest: temperature at the beginning, as a part of the makespan; it falls to 0.
        patience: moves without a better schedule after which it gives up.
    """

    share: float = 0.4
    largest: int = 5_000
    hottest: float = 0.003
    patience: int = 100_000
    name: str = "local-search"

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        if instance.graph.n_instances > self.largest:
            return f"it takes {self.largest} tasks; there are {instance.graph.n_instances}"
        if not only_threads(expand(instance)):
            return "it takes instances in which only threads are scarce"
        if np.isfinite(instance.graph.deadline).any():
            return "it takes no deadlines"
        if any(demand.consumes for demand in instance.graph.demands):
            return "it takes no stock"
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        if brief.incumbent is None:
            yield Proposal(note="there was no schedule to begin with")
            return
        problem = expand(brief.instance)
        key, worker = _solution(brief.instance, problem, brief.incumbent)
        found = _Rounds(problem, key, worker, self, brief.budget, brief.lower_bound)
        shortest = brief.incumbent.makespan
        for _ in found.run():
            schedule = None
            if found.shortest < shortest * (1 - 1e-12):
                choice = Choice(np.argsort(-found.best_key, kind="stable"), found.best_worker)
                placed = place(brief.instance, choice)
                if isinstance(placed, Schedule) and placed.makespan < shortest:
                    schedule, shortest = placed, placed.makespan
            yield Proposal(schedule, note=f"{found.steps} schedules tried")


class _Rounds:
    """Compiled rounds until the budget is spent."""

    def __init__(
        self,
        problem: Problem,
        key: Floats,
        worker: np.ndarray,
        settings: LocalSearch,
        budget: Budget,
        target: float,
    ) -> None:
        self.problem, self.settings, self.budget, self.target = problem, settings, budget, target
        self.key, self.worker = key, worker
        self.best_key, self.best_worker = key.copy(), worker.copy()
        self.steps = 0
        self.shortest = np.inf
        self._round = max(1, ROUND_STEPS // max(1, problem.n_tasks))

    def run(self) -> Iterator[None]:
        """One round at each step."""
        may_run = _may_run(self.problem)
        began = time.perf_counter()
        limit = self.settings.share * self.budget.seconds
        done, found_at = 0.0, 0
        while done < 1.0 and self.steps - found_at <= self.settings.patience:
            steps = self._next_steps()
            best = search(
                self.problem,
                may_run,
                self.budget.seed * 1_000_003 + self.steps,
                steps,
                max(self.settings.hottest * (1.0 - done), 1e-9),
                self.target * (1 + 1e-12),
                self.key,
                self.worker,
                self.best_key,
                self.best_worker,
            )
            self.steps += steps
            if best < self.shortest:
                self.shortest, found_at = best, self.steps
            yield
            if best <= self.target * (1 + 1e-12):
                break
            if self.budget.iterations is not None:
                done = self.steps / max(1, self.budget.iterations)
            else:
                done = (time.perf_counter() - began) / limit if limit > 0 else 1.0

    def _next_steps(self) -> int:
        if self.budget.iterations is None:
            return self._round
        return max(0, min(self._round, self.budget.iterations - self.steps))


def _may_run(problem: Problem) -> Floats:
    """(n, w) 1 where some mode of a task may run."""
    eligible = np.isfinite(problem.seconds).astype(np.float64)
    return np.maximum.reduceat(eligible, problem.mode_begin)


def _solution(
    instance: Instance, problem: Problem, schedule: Schedule
) -> tuple[Floats, np.ndarray]:
    """The schedule as a key, larger for what starts sooner, and a worker for each single task."""
    graph, n = instance.graph, problem.n_tasks
    first = np.concatenate([[0], np.cumsum(graph.count)])
    task_of = np.array([graph.index[name] for name in schedule.task_names], dtype=np.int64)
    worker_of = np.array(
        [instance.cluster.index[name] for name in schedule.worker_names], dtype=np.int64
    )
    place_of = first[task_of[schedule.task]] + schedule.instance
    start, worker = np.zeros(n), np.zeros(n, dtype=np.int64)
    start[place_of], worker[place_of] = schedule.start, worker_of[schedule.worker]
    depth = np.empty(n)
    depth[problem.topological] = np.arange(n)
    key = np.empty(n)
    key[np.lexsort((depth, start))] = np.arange(n, 0, -1)
    return key, worker
