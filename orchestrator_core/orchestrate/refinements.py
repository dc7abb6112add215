"""Refinements: what was found about a graph while it ran, for the next time that it is asked about.

Kept in memory, by the key of the schedule: a graph whose costs stay in their bucket gets at once
what took seconds to find.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, replace

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.measures.measures import Measures
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
        remark: what people are to know about it; empty, or ends with a space.
    """

    result: PlanResult
    measures: Measures
    worth: float
    remark: str = ""


class Refinements:
    """The refinements of a process."""

    def __init__(self) -> None:
        self._known: OrderedDict[ScheduleKey, Refinement] = OrderedDict()

    def keep(self, key: ScheduleKey, refinement: Refinement) -> None:
        """Remember it."""
        self._known[key] = refinement
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def find(self, key: ScheduleKey, instance: Instance) -> Refinement | None:
        """What is known under this key, with the times of `instance`; None if it does not fit."""
        known = self._known.get(key)
        if known is None or set(known.result.schedule.task_names) != set(instance.graph.names):
            return None
        try:
            schedule = retime(instance, known.result.schedule)
            check_schedule(instance, schedule)
        except OrchestratorError as error:
            log.info("a refined schedule no longer fits and is not used: %s", error)
            return None
        self._known.move_to_end(key)
        values = (schedule.makespan,)
        return replace(known, result=replace(known.result, schedule=schedule, values=values))
