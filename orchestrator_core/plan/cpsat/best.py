"""The best schedule and bound so far, told to whoever listens; used from the search's threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.left_shift import left_shift
from orchestrator_core.plan.cpsat.wire import Answer
from orchestrator_core.plan.schedule import Schedule

Listen = Callable[[Answer], None]


class Best:
    """Only improvements enter, and each is told."""

    def __init__(
        self, instance: Instance, incumbent: Schedule | None, lower_bound: float, listen: Listen
    ) -> None:
        self.instance, self.schedule, self.lower_bound = instance, incumbent, lower_bound
        self._listen, self._lock = listen, threading.Lock()
        self._found: Schedule | None = None

    def offer(self, rough: Schedule, late: float) -> None:
        """A schedule whose placement and order count; it is dropped if seconds cannot keep them.

        Args:
            late: as in `left_shift`.
        """
        schedule = left_shift(self.instance, rough, late)
        if schedule is None:
            return
        try:
            check_schedule(self.instance, schedule)
        except InvalidSchedule:
            return
        with self._lock:
            if self.schedule is None or schedule.makespan < self.schedule.makespan:
                self.schedule = self._found = schedule
                self._listen(self.answer())

    def prove(self, lower_bound: float) -> None:
        """A proven bound, in seconds."""
        with self._lock:
            if lower_bound > self.lower_bound:
                self.lower_bound = lower_bound
                self._listen(self.answer())

    def answer(self, status: str = "") -> Answer:
        """What was found; an incumbent that was given is not given back."""
        return Answer(self.lower_bound, self._found, status)

    def within(self, gap: float) -> bool:
        """Is the schedule proven to be within this gap, up to floating-point noise?"""
        return self.schedule is not None and self.schedule.makespan <= self.lower_bound * (
            1 + gap + 1e-9
        )
