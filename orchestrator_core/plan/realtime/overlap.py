"""Plans that run over the end of the hyperperiod and still repeat themselves (real time).

Where deadlines reach into the next hyperperiod, several hyperperiods are planned as one. The tasks
released in some of them, one after another, can be repeated for ever if copies of their plan fit
beside each other: a cyclic schedule. As many copies as one lasts periods show all that ever
overlaps, so that `check_schedule` can tell.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.delayed import delayed_row, delayed_transfer
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.realtime.feasibility import feasibility
from orchestrator_core.plan.realtime.flows import PeriodicFlow
from orchestrator_core.plan.realtime.unroll import Release, releases, unroll
from orchestrator_core.plan.realtime.verdict import Feasible, Infeasible, Unknown
from orchestrator_core.plan.schedule import Schedule

HYPERPERIODS = 6
"""Most that are planned as one, and thus may pass until a plan repeats itself."""

PLANNING = 0.8
"""Part of the time in which a plan is sought; what of it repeats itself is looked for in the rest.
"""


@dataclass(frozen=True, slots=True)
class Cycle:
    """A schedule of these releases that can be repeated every `length` seconds."""

    schedule: Schedule
    members: list[Release]
    length: float


@dataclass(frozen=True, slots=True)
class Flows:
    """What is repeated: flows on a cluster, their hyperperiod, and when the first one begins."""

    cluster: Cluster
    flows: Sequence[PeriodicFlow]
    length: float
    begin: float

    def released(self, hyperperiods: int) -> list[Release]:
        """All releases in so many hyperperiods, with their true deadlines."""
        return releases(self.flows, hyperperiods * self.length, self.begin, math.inf)

    def later(self, release: Release, hyperperiods: int) -> Release:
        """The release by another number, so many hyperperiods later."""
        each = round(self.length / release.flow.period)
        return replace(release, number=release.number + hyperperiods * each)


def cycle(repeated: Flows, most: int, budget: Budget) -> Cycle | Infeasible | Unknown:
    """A cyclic schedule, or a proof that some deadlines cannot be kept, or neither.

    Args:
        most: hyperperiods that are planned as one.

    Raises:
        InfeasibleInstance: if some task cannot even alone end by its deadline.
    """
    until = time.perf_counter() + budget.seconds
    instance = unroll(repeated.cluster, repeated.released(most))
    verdict = feasibility(instance, replace(budget, seconds=PLANNING * budget.seconds))
    if not isinstance(verdict, Feasible):
        return verdict
    cuts = (
        (schedule, first, count)
        for schedule in _schedules(instance, verdict.schedule)
        for count in range(1, most + 1)
        for first in range(most - count + 1)
    )
    for schedule, first, count in cuts:
        found = _cut_out(repeated, schedule, first, count)
        if _repeats(repeated, found, count):
            return found
        if time.perf_counter() > until:
            break
    return Unknown(
        f"no plan of {most} hyperperiods was found in {budget.seconds:g} s that repeats itself"
    )


def _schedules(instance: Instance, known: Schedule) -> Iterator[Schedule]:
    """The known one, and those of list heuristics that keep the deadlines."""
    yield known
    for planner in LIST_PLANNERS:
        if planner.unsupported(instance) is None:
            for proposal in planner.plan(Brief(instance)):
                if proposal.schedule is not None:
                    yield proposal.schedule


def _cut_out(repeated: Flows, schedule: Schedule, first: int, count: int) -> Cycle:
    """What is released in `count` hyperperiods, as if the first of them began at 0."""
    members = repeated.released(count)
    names = _names((repeated.later(r, first), r) for r in members)
    part = _moved(schedule, names, 0.0)
    back = min(first * repeated.length, float(part.start.min()))  # not below 0 by rounding
    own = {name: name for name in part.task_names}
    return Cycle(_moved(part, own, -back), members, count * repeated.length)


def _repeats(repeated: Flows, found: Cycle, count: int) -> bool:
    """Do all copies fit that overlap at some moment?"""
    last = max(found.schedule.makespan, float(found.schedule.transfer_end.max(initial=0.0)))
    copies = max(1, math.ceil(last / found.length - 1e-9))
    parts = [
        _moved(
            found.schedule,
            _names((r, repeated.later(r, k * count)) for r in found.members),
            k * found.length,
        )
        for k in range(copies)
    ]
    together = Schedule(
        [row for part in parts for row in part.assignments],
        [sent for part in parts for sent in part.transfers],
    )
    instance = unroll(repeated.cluster, repeated.released(copies * count))
    try:
        check_schedule(instance, together)
    except InvalidSchedule:
        return False
    return True


def _names(pairs: Iterator[tuple[Release, Release]]) -> dict[str, str]:
    """The names of the tasks of each first release, and what they are in the second one."""
    return {
        one.task_name(task): other.task_name(task)
        for one, other in pairs
        for task in one.flow.instance.graph.names
    }


def _moved(schedule: Schedule, names: Mapping[str, str], seconds: float) -> Schedule:
    """The part of the schedule that has new names, so much later."""
    rows, sent = schedule.assignments, schedule.transfers
    return Schedule(
        [replace(delayed_row(r, seconds), task=names[r.task]) for r in rows if r.task in names],
        [
            replace(delayed_transfer(t, seconds), task=names[t.task])
            for t in sent
            if t.task in names
        ],
    )
