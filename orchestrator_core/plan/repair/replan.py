"""replan: what is left of a schedule, planned anew after something has happened (stage 3, repair).

The past is frozen: what has begun keeps its start, worker and mode. Outputs that went down with
their worker are made again if somebody needs them. The rest keeps its order and its places as far
as these are possible and good; only then it is searched, if there is a budget. See
`docs/decisions/0009-repair.md` for the choices.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.given import check_budget, check_instance, check_is_schedule
from orchestrator_core.plan.repair.basis import basis_of
from orchestrator_core.plan.repair.events import Event, WorkerLost, listed, names_of
from orchestrator_core.plan.repair.joining import join
from orchestrator_core.plan.repair.planned import Planned, read_schedule
from orchestrator_core.plan.repair.rebuilding import rebuild
from orchestrator_core.plan.repair.remains import remains_of
from orchestrator_core.plan.repair.result import Replan
from orchestrator_core.plan.repair.told import hear
from orchestrator_core.plan.schedule import Schedule


def replan(
    instance: Instance,
    schedule: Schedule,
    now: float,
    events: Iterable[Event] = (),
    *,
    budget: Budget | None = None,
    wanted: Collection[str] = (),
    forgets: bool = False,
) -> Replan:
    """The schedule repaired: the past frozen, the rest valid for what the instance is now.

    Hand in the whole problem as it is now: new tasks and edges, workers that joined and other
    durations are found by comparing it with the schedule. Workers that the instance has no longer
    count as lost.

    Args:
        schedule: the old plan, of this instance or of an earlier form of it.
        now: seconds from the start of the run.
        events: what has happened since the plan was made; what nobody reports is taken to have
            gone exactly as planned where that is possible, or else not to have begun.
        budget: for a search after the repair; None for none.
        wanted: tasks whose outputs are needed after the run, so that they too are made again.
        forgets: workers drop an output once all of its consumers have ended (as Dask's do), so that
            it has to be made again if one of these has to run again.

    What cannot run as things are is left out of the schedule, and named in `Replan.blocked`.

    Raises:
        InvalidInput: for events that cannot be, or for a schedule of another instance.
    """
    return Repairer(instance, schedule, wanted=wanted, forgets=forgets).replan(
        now, events, budget=budget
    )


class Repairer:
    """A schedule that is repaired again and again, as events come in.

    It remembers lost workers, the last repair, and what it has worked out of the instance. It does
    no I/O and starts nothing; calls must not overlap.
    """

    def __init__(
        self,
        instance: Instance,
        schedule: Schedule,
        *,
        wanted: Collection[str] = (),
        forgets: bool = False,
    ) -> None:
        """See `replan` for the arguments.

        Raises:
            InvalidInput: if it is a schedule of another instance.
        """
        check_is_schedule(schedule, "the schedule")
        self.schedule, self.wanted, self.forgets = schedule, names_of(wanted), forgets
        self._now, self._lost = 0.0, frozenset[str]()
        self.reprice(instance)

    def reprice(self, instance: Instance) -> None:
        """The problem as it is from now on: other durations, more tasks, more or fewer workers.

        Raises:
            InvalidInput: if it lacks tasks of the schedule.
        """
        check_instance(instance)
        basis = basis_of(instance)
        self._planned: Planned | None = read_schedule(basis, self.schedule)
        self._wanted = np.zeros(basis.problem.n_tasks, dtype=np.bool_)
        for name in self.wanted:
            begin = basis.unit(name, 0)
            self._wanted[begin : begin + int(instance.graph.count[instance.graph.index[name]])] = 1
        self.instance, self._basis = instance, basis

    def replan(
        self, now: float, events: Iterable[Event] = (), *, budget: Budget | None = None
    ) -> Replan:
        """The repaired schedule; the next call starts from it. See `replan`."""
        began = time.perf_counter()
        check_budget(budget)
        happened = listed(events)
        planned = self._planned or read_schedule(self._basis, self.schedule)
        told = hear(self._basis, planned, now, happened, self._lost)
        now = float(now)  # a whole number is another type to compiled code
        if now < self._now:
            raise InvalidInput(f"now is {now:g} s; the last repair was at {self._now:g} s")
        remains = remains_of(self._basis, planned, told, now, self._wanted, self.forgets)
        remains, option, kept, sends = rebuild(self._basis, remains, budget)
        schedule = join(self._basis, planned, remains, option.placed, sends, told)
        lost = self._lost | {event.name for event in happened if isinstance(event, WorkerLost)}
        result = Replan(
            schedule=schedule,
            now=now,
            kept_makespan=kept,
            seconds=time.perf_counter() - began,
            _basis=self._basis,
            _planned=planned,
            _remains=remains,
            _option=option,
            _sends=sends,
            _lost=lost | set(planned.worker_names[len(self.instance.cluster) :]),
        )
        self._now, self._lost, self.schedule = now, lost, schedule
        self._planned = None
        return result
