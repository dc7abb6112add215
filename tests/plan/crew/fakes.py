"""Planners that misbehave in the helper's process, or do as they are told there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.lane import Lane
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal


@dataclass(frozen=True)
class Fake:
    """Proposes HEFT's schedule and a bound of `bound` seconds, then does what `then` says."""

    then: str = "end"
    bound: float = 0.0
    name: str = "fake"
    lane: ClassVar[Lane] = Lane.HELPER

    def unsupported(self, instance: Instance, objective: Objective = MAKESPAN) -> str | None:
        return None

    def plan(self, brief: Brief) -> Iterator[Proposal]:
        schedule = next(LIST_PLANNERS[0].plan(Brief(brief.instance))).schedule
        yield Proposal(schedule, self.bound, note=f"from process {os.getpid()}")
        if self.then == "abort":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.then == "raise":
            raise ZeroDivisionError("by design")
        while self.then == "hang":
            time.sleep(3600)
        while self.then == "wait for news" and brief.lower_bound < 70.0:
            yield Proposal()
        if self.then == "wait for news":
            yield Proposal(note=f"was told {brief.lower_bound:g} s")
        while self.then == "go on":
            yield Proposal()
