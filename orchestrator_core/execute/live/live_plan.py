"""LivePlan: all that is needed to follow a plan and to mend it while it is followed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.live.course import Course
from orchestrator_core.plan.dates import has_deadlines
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.schedule import Schedule


@dataclass(frozen=True, slots=True)
class LivePlan:
    """A plan with the problem that it solves; times in seconds from the start of the run.

    Attributes:
        instance, objective, thrifty, prefetch, max_price, changeover, crowding: as in `Advice`.
        schedule: the plan. predicted: its makespan, as it was promised.
    """

    instance: Instance
    schedule: Schedule
    predicted: float
    objective: Objective = MAKESPAN
    thrifty: bool = False
    prefetch: bool = False
    max_price: float | None = None
    changeover: float = 0.0
    crowding: float = 1.0

    @staticmethod
    def of(advice: Advice) -> LivePlan | None:
        """The plan that is to be followed; None if there is none, or it cannot be mended."""
        plan = advice.plan
        if plan is None or not advice.adopted or advice.instance is None:
            return None
        return LivePlan(
            advice.instance,
            plan.schedule,
            plan.predicted,
            advice.objective,
            advice.thrifty,
            advice.prefetch,
            advice.max_price,
            advice.changeover,
            advice.crowding,
        )

    @property
    def is_dated(self) -> bool:
        """Are there dates to keep?"""
        return "tardiness" in self.objective.criteria or has_deadlines(self.instance.graph)

    @staticmethod
    def from_json(text: str | bytes) -> LivePlan:
        """The plan that `to_json` wrote.

        Raises:
            InvalidInput: if the text is no such JSON, or what it holds cannot be.
        """
        from orchestrator_core.execute.live.wire import decode_plan

        return decode_plan(text)

    def to_json(self) -> bytes:
        """JSON with instance and schedule in their own formats; UTF-8."""
        from orchestrator_core.execute.live.wire import encode_plan

        return encode_plan(self)

    def course(self, wanted: Collection[str]) -> Course:
        """The course of a run that follows it; somebody keeps the `wanted` outputs."""
        wishes = (self.thrifty, self.objective, self.max_price)
        beliefs = (self.changeover, self.crowding)
        return Course(self.instance, self.schedule, wanted, *wishes, *beliefs)
