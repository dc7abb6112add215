"""ShopEngine: job shops, begun by `evolve` and gone on with by `tabu` (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.engine.decoder import to_schedule, with_plain_transfers
from orchestrator_core.plan.engine.project import Project
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.engine.retime import placement
from orchestrator_core.plan.engine.serial import place_in_project
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.search.general_project import LEAST, ProjectEngine
from orchestrator_core.plan.search.general_tabu import tabu
from orchestrator_core.plan.search.shop_elite import empty_elite
from orchestrator_core.plan.search.shop_state import Shop

MOST_TASKS = 1_500
"""Beyond, the table of what is banned would be too large."""

LEAST_ELITE, MOST_ELITE = 8, 20
"""Schedules between which the tabu search goes on once it finds nothing better."""

NEAR = 0.01
"""Of the pairs of tasks on a machine; of two schedules that differ in fewer, one is kept."""

MOVES_EACH, TASKS_A_SECOND = 200_000, 2e7
"""Moves that the budget must be good for, for each of them beyond the least: fewer schedules are
soon alike, more are not done in the time (decision 0033). And moves times tasks in a second, about.
"""

BEGIN = 60
"""Schedules of the genetic algorithm with which the tabu search begins."""


class ShopEngine(ProjectEngine):
    """See `general_search.Engine`."""

    steps_per_task = 1

    def __init__(self, instance: Instance, objective: Objective, budget: Budget) -> None:
        super().__init__(instance, objective, budget)
        machine = _machines(self.project)
        self._shop = _empty_shop(self.project, machine)
        self._elite = empty_elite(len(machine), _elite(len(machine), budget), _near(machine))

    def _size(self, budget: Budget) -> int:
        return LEAST  # the tabu search takes over after a few children

    def take(self, schedule: Schedule) -> None:
        super().take(schedule)
        if self.steps >= BEGIN and schedule.makespan < self.value:
            row, _, _ = placement(self.instance, self.problem, schedule)
            self._sequence(ready_order(self.problem, -schedule.start[row]))

    def go(self, steps: int, target: float) -> None:
        if self.steps < BEGIN:
            super().go(min(steps, BEGIN - self.steps), target)
            if self.steps >= BEGIN:
                self._sequence(self._z.order[self._z.state[1]])
            return
        seed = (self.seed * 1_000_003 + self.steps) % 2**32
        self.steps += tabu(self.project, self._shop, self._elite, seed, steps, target)
        self.value = min(self.value, float(self._shop.best[0]))

    def schedule(self) -> Schedule:
        s, p = self._shop, self.project
        if not s.best[0] <= self.value:
            return super().schedule()
        order = ready_order(self.problem, -s.best_start)
        alternative = p.first[:-1].copy()
        place_in_project(p, order, alternative, p.release.copy(), True, self._ground)
        start, end = self._ground.start.copy(), self._ground.end.copy()
        worker, mode = p.worker[alternative], p.mode[alternative]
        return to_schedule(
            self.instance, with_plain_transfers(self.problem, start, end, worker, mode)
        )

    def _sequence(self, order: Ints) -> None:
        """Let the tabu search go on from the sequences of this order."""
        s = self._shop
        s.before[:], s.after[:], s.banned[:] = -1, -1, 0
        self._elite.value[-1] = np.inf
        last: dict[int, int] = {}
        for t in order.tolist():
            m = int(s.machine[t])
            if m < 0:
                continue
            if m in last:
                s.before[t], s.after[last[m]] = last[m], t
            last[m] = t


def _near(machine: Ints) -> int:
    """How many pairs of tasks on a machine are too few for two schedules to differ in."""
    tasks = np.bincount(machine[machine >= 0])
    return max(2, int(NEAR * (tasks * (tasks - 1) // 2).sum()))


def _elite(n: int, budget: Budget) -> int:
    """How many schedules the budget is good for."""
    moves = budget.seconds * TASKS_A_SECOND / n
    if budget.iterations is not None:
        moves = budget.iterations
    return int(min(MOST_ELITE, max(LEAST_ELITE, moves / MOVES_EACH)))


def is_shop(project: Project, objective: Objective) -> bool:
    """Has each task one place, on a machine that runs one at a time, and is only the makespan
    asked for?"""
    n = len(project.release)
    if n > MOST_TASKS or len(project.mode) != n or objective != MAKESPAN:
        return False
    if project.latency.any() or project.per_byte.any() or len(project.stock):
        return False
    needs = np.diff(project.need_ptr)
    owner = np.repeat(project.worker, needs)
    alone = 2 * project.need_amount > project.limit[owner, project.need_column]
    long = (project.seconds > 0).all()
    return bool(long and alone.all() and (needs <= 1).all() and needs.any()) and not bool(
        np.isfinite(project.deadline).any()
    )


def _machines(project: Project) -> Ints:
    """(n,) the worker and resource that a task occupies, as one number; -1 for none."""
    machine = np.full(len(project.release), -1, dtype=np.int64)
    has = np.diff(project.need_ptr) > 0
    machine[has] = project.worker[has] * project.limit.shape[1] + project.need_column
    return machine


def _empty_shop(project: Project, machine: Ints) -> Shop:
    n = len(machine)
    before, after, best_before, best_after = np.full((4, n), -1, dtype=np.int64)
    best_start, head, tail, ready, rest = np.zeros((5, n))
    top, spot, missing, path, row = np.zeros((5, n), dtype=np.int64)
    return Shop(
        machine=machine,
        seconds=np.array(project.seconds),
        before=before,
        after=after,
        best_before=best_before,
        best_after=best_after,
        best_start=best_start,
        head=head,
        tail=tail,
        ready=ready,
        rest=rest,
        top=top,
        spot=spot,
        missing=missing,
        path=path,
        row=row,
        reach=np.zeros((2, n)),
        banned=np.zeros((n, n), dtype=np.int64),
        state=np.zeros(1, dtype=np.int64),
        best=np.full(1, np.inf),
    )
