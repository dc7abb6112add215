"""Whole tasks in a window, in plain NumPy: what a rounded claim counts of each (stage 3)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.claims import LEAST_PART, MORE_ROOM


def counted(work: Floats, room: float, known: float, unit: float) -> tuple[float, Floats]:
    """(seconds, (n,) seconds of each task that is in the window): all added up are no more than the
    makespan, if no makespan is less than `known`; see `claims.py`.

    Args:
        work: (n,) seconds of each task in the window. room: seconds for it if the makespan is
            `known`, >= 0. unit: seconds by which room and work are counted in whole numbers, > 0.
    """
    units = (room + MORE_ROOM * known) / unit
    part = units - np.floor(units)
    given = known - unit * (1.0 - part) * float(np.floor(units))
    if 1.0 - part < LEAST_PART:
        return given, np.zeros_like(work)
    count = np.floor(work / unit)
    beyond = np.maximum(0.0, work / unit - count - part)
    return given, unit * ((1.0 - part) * count + beyond)
