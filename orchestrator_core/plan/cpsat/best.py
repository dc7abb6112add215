"""The best schedule and bound so far, and what of it is news."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.left_shift import left_shift
from orchestrator_core.plan.cpsat.wire import Answer
from orchestrator_core.plan.schedule import Schedule


class Best:
    """Only improvements enter."""

    def __init__(self, instance: Instance, incumbent: Schedule | None, lower_bound: float) -> None:
        self.instance, self.schedule, self.lower_bound = instance, incumbent, lower_bound
        self._found: Schedule | None = None
        self._told: tuple[float, Schedule | None] = (lower_bound, None)

    def offer(self, rough: Schedule, late: float) -> None:
        """A schedule whose placement and order count; it is dropped if seconds cannot keep them.

        Args:
            late: as in `left_shift`.
        """
        schedule = left_shift(self.instance, rough, late)
        if schedule is None or not self._better(schedule):
            return
        try:
            check_schedule(self.instance, schedule)
        except InvalidSchedule:
            return
        self.schedule = self._found = schedule

    def prove(self, lower_bound: float) -> None:
        """A proven bound, in seconds."""
        self.lower_bound = max(self.lower_bound, lower_bound)

    def renew(self, incumbent: Schedule | None, lower_bound: float) -> bool:
        """Take over what others have found; is their schedule better than ours?"""
        self.prove(lower_bound)
        if incumbent is None or not self._better(incumbent):
            return False
        self.schedule = incumbent
        return True

    def _better(self, schedule: Schedule) -> bool:
        return self.schedule is None or schedule.makespan < self.schedule.makespan

    def answer(self, status: str = "") -> Answer:
        """What was found; an incumbent that was given is not given back."""
        return Answer(self.lower_bound, self._found, status)

    def news(self) -> Answer | None:
        """What was found since the last time, or None."""
        if self._told == (self.lower_bound, self._found):
            return None
        new = self._found if self._found is not self._told[1] else None
        self._told = self.lower_bound, self._found
        return Answer(self.lower_bound, new)

    def within(self, gap: float) -> bool:
        """Is the schedule proven to be within this gap, up to floating-point noise?"""
        return self.schedule is not None and self.schedule.makespan <= self.lower_bound * (
            1 + gap + 1e-9
        )
