"""Refinements: what was found about a graph while it ran, for the next time that it is asked about.

Kept in memory: a graph that is asked about again gets at once what took seconds to find.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.orchestrate.experience import Crowd, crowd_of
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.result import PlanResult
from orchestrator_core.store.base import ScheduleKey

log = logging.getLogger("orchestrator")

REMEMBERED = 256
"""Graphs that are remembered; of more, the longest unused is forgotten."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan, and what is done beside placing.

    Attributes:
        result: the schedule and its proof. measures: what belongs to it.
        worth: part of the remaining time that a change during the run must save.
        saves: part of the bytes that Dask alone would hold at once and this does not; 0 if that is
            not what it is for.
        remark: what people are to know about it; empty, or ends with a space.
    """

    result: PlanResult
    measures: Measures
    worth: float
    saves: float = 0.0
    remark: str = ""


class Refinements:
    """The refinements of a process, by graph and workers.

    What is measured of links and durations changes from run to run; a plan that was made for others
    is given the times of today, and judged by them.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, Crowd], tuple[str, Refinement]] = OrderedDict()

    def keep(self, key: ScheduleKey, instance: Instance, refinement: Refinement) -> None:
        """Remember what was found for this instance, whose key this is."""
        place = _place(key, instance)
        self._known[place] = (key.cost_bucket, refinement)
        self._known.move_to_end(place)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def is_current(self, key: ScheduleKey, instance: Instance) -> bool:
        """Was what is known found for costs like these?"""
        return self._known.get(_place(key, instance), ("", None))[0] == key.cost_bucket

    def find(self, key: ScheduleKey, instance: Instance) -> Refinement | None:
        """What is known, with the times of `instance`; None if it does not fit."""
        known = self._known.get(_place(key, instance), ("", None))[1]
        if known is None or set(known.result.schedule.task_names) != set(instance.graph.names):
            return None
        try:
            schedule = retime(instance, known.result.schedule)
            check_schedule(instance, schedule)
        except OrchestratorError as error:
            log.info("a refined schedule no longer fits and is not used: %s", error)
            return None
        values = (schedule.makespan,)
        return replace(known, result=replace(known.result, schedule=schedule, values=values))


def _place(key: ScheduleKey, instance: Instance) -> tuple[str, Crowd]:
    return key.graph_signature, crowd_of(instance.cluster)
