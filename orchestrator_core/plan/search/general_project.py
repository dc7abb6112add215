"""ProjectEngine: instances that are multi-mode projects, searched by `evolve` (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.decoder import to_schedule, with_plain_transfers
from orchestrator_core.plan.engine.expand import Problem, expand
from orchestrator_core.plan.engine.goal import goal_of
from orchestrator_core.plan.engine.modes import best_seconds
from orchestrator_core.plan.engine.project import Project, project_of
from orchestrator_core.plan.engine.ranks import latest_ends, ready_order, upward_rank
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.engine.serial import empty_ground, place_in_project
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.general_evolve import evolve
from orchestrator_core.plan.search.general_population import empty_population

LEAST, LEAST_WITH_CHOICES, MOST = 40, 100, 1_000
"""Individuals, at least, where each task has one alternative only, and where some have more; and
at most."""

CHILDREN_EACH = 80
"""Children that the budget must be good for, for each individual beyond the least: a population
that is too small for the time settles early, one that is too large is not done in it (decision
0033)."""

TASKS_A_SECOND, WITH_CHOICES_A_SECOND = 1.2e6, 3e5
"""Tasks of children that are placed and justified in a second, on a slow machine; fewer where they
are polished. Better too few individuals than too many."""


class ProjectEngine:
    """See `general_search.Engine`."""

    steps_per_task = 3

    def __init__(self, instance: Instance, objective: Objective, budget: Budget) -> None:
        self.instance, self.seed = instance, budget.seed
        self.problem = expand(instance)
        self.project = project_of(instance, self.problem)
        self.goal = goal_of(instance, objective)
        self.value, self.steps = np.inf, 0
        rank = urgency(self.problem)
        self._ground = empty_ground(self.project)
        self._z = empty_population(self._size(budget), rank, self.problem.release)
        self._z.child[:], self._z.fixed[:] = ready_order(self.problem, rank), -1
        self._given = True

    def _size(self, budget: Budget) -> int:
        """How many individuals the budget is good for."""
        n, choices = len(self.project.release), len(self.project.mode) > len(self.project.release)
        least = LEAST_WITH_CHOICES if choices else LEAST
        children = budget.seconds * (WITH_CHOICES_A_SECOND if choices else TASKS_A_SECOND) / n
        if budget.iterations is not None:
            children = budget.iterations
        return int(min(MOST, max(least, children / CHILDREN_EACH)))

    def take(self, schedule: Schedule) -> None:
        if self._given and self.steps > 0:
            self.go(1, -np.inf)
        row, worker, mode = placement(self.instance, self.problem, schedule)
        self._z.child[:] = ready_order(self.problem, -schedule.start[row])
        self._z.fixed[:] = _alternatives(self.project, worker, mode)
        self._given = True

    def go(self, steps: int, target: float) -> None:
        if steps < 1:
            return
        z = self._z
        before = int(z.state[3])
        seed = (self.seed * 1_000_003 + self.steps) % 2**32
        evolve(
            self.project,
            self.problem,
            self.goal,
            z,
            self._ground,
            seed,
            steps,
            target,
            self._given,
        )
        self._given = False
        self.steps += int(z.state[3]) - before
        best = z.state[1]
        if z.breach[best] == 0.0:
            self.value = min(self.value, float(z.value[best]))

    def schedule(self) -> Schedule:
        z, p = self._z, self.project
        best = z.state[1]
        order, chosen = z.order[best].copy(), z.chosen[best].copy()
        place_in_project(p, order, chosen, p.release.copy(), True, self._ground)
        start, end = self._ground.start.copy(), self._ground.end.copy()
        decoded = with_plain_transfers(self.problem, start, end, p.worker[chosen], p.mode[chosen])
        return to_schedule(self.instance, decoded)


def urgency(problem: Problem) -> Floats:
    """(n,) by how soon a task must end at the latest, for deadlines as for the makespan."""
    seconds = best_seconds(problem).min(axis=1)
    rank = upward_rank(problem, seconds, 0.0, 0.0)
    latest = latest_ends(problem, seconds) - seconds
    # Without deadlines, the latest start is the longest path less the rank, but for a constant.
    return np.asarray(-np.minimum(latest, rank.max(initial=0.0) - rank))


def _alternatives(project: Project, worker: Ints, mode: Ints) -> Ints:
    """(n,) the alternative of that worker and mode, -1 where it was left out."""
    task = np.repeat(np.arange(len(worker)), np.diff(project.first))
    fits = (project.worker == worker[task]) & (project.mode == mode[task])
    found = np.full(len(worker), -1, dtype=np.int64)
    found[task[fits]] = np.flatnonzero(fits)
    return found
