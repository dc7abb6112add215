"""Rehearsal: a plan made ready to be simulated many times, each time with other durations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.simulate.compiling import at_once
from orchestrator_core.execute.simulate.held import plan_of
from orchestrator_core.execute.simulate.kernel.job import Job, job_of, most_transfers
from orchestrator_core.execute.simulate.kernel.outcome import Came
from orchestrator_core.execute.simulate.kernel.planned import Plan, run_planned
from orchestrator_core.execute.simulate.outcome import Outcome, schedule_of
from orchestrator_core.execute.simulate.replay import lengths_of, seconds_of
from orchestrator_core.execute.simulate.units import units_of
from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.checks.rows import resolve
from orchestrator_core.plan.engine.expand import Problem, frozen
from orchestrator_core.plan.schedule import Schedule

NO_HOLDS: Mapping[str, Hold] = {}

LAG = 0.01
"""Seconds from the end of a task until a worker knows of what it made ready, as Dask has them.

A worker that has ended a task begins the next one that it was given, long before the scheduler
tells it of what the ended task made ready. For the end of a run that matters little; for what is
held it matters much, since each worker has produced one output more before it consumes the first.
"""


def simulate_placed(
    instance: Instance,
    schedule: Schedule,
    seconds: ArrayLike | None = None,
    *,
    holds: Mapping[str, Hold] = NO_HOLDS,
    prefetch: bool = False,
) -> Schedule:
    """The schedule that Dask comes to with the places, modes and order of a plan.

    Tasks run in one piece. It may be longer than the plan, or shorter. Breaks no rule but memory
    and deadline.

    Args:
        schedule: valid for the instance.
        seconds: (modes, workers) durations that come instead of the instance's.
        holds: by task name: what is kept back although it is ready.
        prefetch: are outputs sent ahead to where tasks are planned that wait for other inputs?

    Raises:
        InvalidSchedule: if it is not a schedule of this instance.
        InvalidInstance: if `seconds` lacks a duration that is needed.
    """
    return schedule_of(Rehearsal(instance, schedule).run(seconds, holds, prefetch))


class Rehearsal:
    """What does not change from one simulation of a plan to the next.

    Dask tells a worker of a task only when all its inputs are done, so a worker fetches late; and
    a worker begins whatever is ready, so a task that was planned later overtakes one that still
    waits. Holds keep such a task back; prefetching sends outputs ahead.

    Attributes:
        units: the instances of its tasks. priority: (u,) place in the order of planned starts.
        mode: (u,) position of each unit's mode among all modes.
        lag: seconds between what happens and what is done about it; see `LAG`.
    """

    def __init__(self, instance: Instance, schedule: Schedule, lag: float = 0.0) -> None:
        """Raises InvalidSchedule if it is not a schedule of this instance."""
        self.instance, self.lag = instance, lag
        self.units = units_of(instance)
        problem = self.units.problem
        self._rows = rows = resolve(instance, schedule)
        self.mode: Ints = rows.mode[rows.row_of]
        self._worker: Ints = rows.worker[rows.row_of]
        priority = _in_order_of_start(problem, schedule, rows.row_of)
        self.priority: list[int] = priority.tolist()
        self._job = job_of(problem, self.mode, priority)
        self._most = most_planned(problem, self._worker)
        self._unheld = plan_of(self._worker, instance.graph, self.units.first, NO_HOLDS)

    def run(
        self,
        seconds: ArrayLike | None = None,
        holds: Mapping[str, Hold] = NO_HOLDS,
        prefetch: bool = False,
    ) -> Outcome:
        """What comes about; arguments and errors as of `simulate_placed`."""
        job, plan = self._prepared(seconds, holds)
        return Outcome(self.instance, self.units, self.mode, self._came(job, plan, prefetch))

    def _came(self, job: Job, plan: Plan, prefetch: bool) -> Came:
        """By compiled code."""
        return at_once(run_planned, job, plan, prefetch, self.lag, self._most)

    def _prepared(self, seconds: ArrayLike | None, holds: Mapping[str, Hold]) -> tuple[Job, Plan]:
        """What compiled code takes; arguments and errors as of `simulate_placed`."""
        table = seconds_of(self.instance, seconds)
        lengths_of(self._rows, table)
        plan = self._unheld
        if holds:
            plan = plan_of(self._worker, self.instance.graph, self.units.first, holds)
        return self._job._replace(seconds=frozen(table)), plan

    def makespan(
        self,
        seconds: ArrayLike | None = None,
        holds: Mapping[str, Hold] = NO_HOLDS,
        prefetch: bool = False,
    ) -> float:
        """Seconds until everything is done; arguments and errors as of `simulate_placed`."""
        return self.run(seconds, holds, prefetch).makespan


def _in_order_of_start(problem: Problem, schedule: Schedule, row_of: Ints) -> Ints:
    """(u,) the place of each unit; producers first where planned starts are equal."""
    order = problem.topological
    priority = np.empty(len(order), dtype=np.int64)
    order = order[np.argsort(schedule.start[row_of][order], kind="stable")]
    priority[order] = np.arange(len(order))
    return priority


def most_planned(problem: Problem, worker: Ints) -> int:
    """Room for all transfers that there can be if units run on these workers, >= 1."""
    travelling = np.repeat(worker, np.diff(problem.in_ptr)) != worker[problem.in_task]
    return max(1, min(int(np.count_nonzero(travelling)), most_transfers(problem)))
