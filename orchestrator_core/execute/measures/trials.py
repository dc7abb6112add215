"""Trials: plans for one instance, simulated as Dask would carry them out, with what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.withholding import just_in_time
from orchestrator_core.execute.simulate.footprint import Footprint, footprint
from orchestrator_core.execute.simulate.outcome import schedule_of
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.plan.in_turns import in_turns
from orchestrator_core.plan.schedule import Schedule

MARGIN = 0.01
"""Part of the makespan by which what is held begins before it must."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One simulated run: of a schedule with holds, by task name; makespan in seconds."""

    schedule: Schedule
    holds: Mapping[str, Hold]
    makespan: float
    taken: Footprint


def trials(
    instance: Instance, schedule: Schedule, lag: float, most: int | None = None
) -> Iterator[Trial]:
    """The schedule as it is, then others, each without and with holds where some are found.

    Args:
        lag: seconds until a worker hears of what it made ready.
        most: other schedules; None for all.
    """
    for each in (schedule, *_others(instance, most)):
        yield from _with_and_without_holds(instance, each, lag)


def _others(instance: Instance, most: int | None) -> list[Schedule]:
    try:
        return list(islice(in_turns(instance), most))
    except UnsupportedInstance:
        return []


def _with_and_without_holds(instance: Instance, schedule: Schedule, lag: float) -> Iterator[Trial]:
    rehearsal = Rehearsal(instance, schedule, lag)
    free = rehearsal.run()
    yield Trial(schedule, {}, free.makespan, footprint(instance, schedule_of(free)))
    holds = just_in_time(rehearsal, free, 2 * lag + MARGIN * free.makespan)
    if holds:
        loop = rehearsal.run(None, holds)
        yield Trial(schedule, holds, loop.makespan, footprint(instance, schedule_of(loop)))
