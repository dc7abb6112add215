"""Room for transfers, of which nobody knows beforehand how many there will be."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator_core.execute.simulate.kernel.job import Job, most_transfers
from orchestrator_core.execute.simulate.kernel.outcome import Came
from orchestrator_core.plan.engine.expand import Problem

AT_FIRST = 2
"""Transfers for each need: tasks that are stolen or moved take more than one."""


def with_room(run: Callable[[int], Came], job: Job, problem: Problem) -> Came:
    """What comes about with room for all transfers; `run` is given how many there may be."""
    bound = most_transfers(problem)
    room = min(bound, AT_FIRST * len(job.in_unit) + 1)
    while True:
        came = run(room)
        if not came.full:
            return came
        room = min(bound, 2 * room)
