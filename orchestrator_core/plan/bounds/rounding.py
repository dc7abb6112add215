"""Rounding: from a split of the window program to a schedule (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import State
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.place import place
from orchestrator_core.plan.engine.ranks import ready_order
from orchestrator_core.plan.schedule import Schedule

SURE = 0.6
"""Part of a task on one worker from which it is kept there."""


def rounded(
    instance: Instance, relaxation: Relaxation, state: State, split: Floats
) -> Schedule | None:
    """The better of two: each task where most of it is, or only those of which most is somewhere.

    The order is by how much is left from a task's start to the end, on its worker.
    """
    n = len(split)
    worker = np.argmax(np.where(state.may, split, -1.0), axis=1)
    tasks = np.arange(n)
    left = state.tail[tasks, worker] + relaxation.seconds[tasks, worker]
    order = ready_order(expand(instance), left)
    sure = np.where(split[tasks, worker] >= SURE, worker, -1)
    found = [place(instance, Choice(order, worker=choice)) for choice in (worker, sure)]
    schedules = [each for each in found if isinstance(each, Schedule)]
    return min(schedules, key=lambda schedule: schedule.makespan, default=None)
