"""Placements and their neighbours, for any objective: a move, a decode, a value (stage 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.schedule import Schedule

SHIFT = 0.1
"""Standard deviation of a change of priority, as a part of all tasks."""


@dataclass(frozen=True, slots=True)
class Placement:
    """For each of n single tasks a priority, larger ones first, and a worker."""

    priority: Floats
    worker: Ints


class Neighbours:
    """Random changes of placements of one instance; the same seed makes the same changes."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance = instance
        self.problem: Problem = expand(instance)
        self.may_run = np.isfinite(best_seconds(self.problem))
        self.random = np.random.default_rng(seed)

    def of_schedule(self, schedule: Schedule) -> Placement:
        """The placement that the schedule has."""
        row, worker, _ = placement(self.instance, self.problem, schedule)
        n = self.problem.n_tasks
        priority = np.empty(n)
        priority[np.argsort(schedule.start[row], kind="stable")] = np.arange(n, 0, -1.0)
        return Placement(priority, worker)

    def schedule(self, of: Placement) -> Schedule | None:
        """The schedule of a placement, if it has one."""
        order = ready_order(self.problem, of.priority)
        found = place(self.instance, Choice(order, worker=of.worker))
        return found if isinstance(found, Schedule) else None

    def near(self, of: Placement) -> Placement:
        """A neighbour: a few tasks elsewhere; one worker's tasks, all or half, on another; or other
        priorities."""
        priority, worker = of.priority.copy(), of.worker.copy()
        draw = self.random.random()
        if draw < 0.2:
            some = worker == worker[self.random.integers(len(worker))]
            if self.random.random() < 0.5:
                some &= self.random.random(len(worker)) < 0.5
            self._send(np.flatnonzero(some), worker)
        elif draw < 0.75:
            many = 1 + int(self.random.integers(3))
            self._send(self.random.integers(len(worker), size=many), worker)
        else:
            task = self.random.integers(len(worker))
            priority[task] += self.random.normal(0.0, SHIFT) * len(worker)
        return Placement(priority, worker)

    def _send(self, tasks: Ints, worker: Ints) -> None:
        """The tasks to one worker: one that is in use, or any."""
        if self.random.random() < 0.7:
            to = int(worker[self.random.integers(len(worker))])
        else:
            to = int(self.random.integers(self.problem.n_workers))
        able = tasks[self.may_run[tasks, to]]
        worker[able] = to
