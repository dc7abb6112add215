"""The model of a window: a table of contents of its constraints."""

from __future__ import annotations

from collections.abc import Sequence

from ortools.sat.python import cp_model

from orchestrator_core.plan.cpsat.windows.encodings import encodings_take_threads
from orchestrator_core.plan.cpsat.windows.frame import Frame
from orchestrator_core.plan.cpsat.windows.model import (
    Window,
    band_keeps_its_order,
    free_tasks_take_an_option,
    groups_fit,
    inputs_of_free_tasks,
    outputs_of_free_tasks,
    stock_lasts,
)


def build_window(
    frame: Frame, unit: float, target: int, pulls: Sequence[int] | None = None
) -> Window:
    """Minimise the makespan, up to `target` ticks.

    Args:
        pulls: for each free task; if given, the sum of starts times pulls is minimised instead.
    """
    cp = cp_model.CpModel()
    least = min(round(frame.least / unit), target)
    window = Window(cp, frame, unit, target, cp.new_int_var(least, target, ""))
    free_tasks_take_an_option(window)
    band_keeps_its_order(window)
    inputs_of_free_tasks(window)
    outputs_of_free_tasks(window)
    encodings_take_threads(window)
    groups_fit(window)
    stock_lasts(window)
    if pulls is None:
        cp.minimize(window.makespan)
    else:
        starts = [window.start[t] for t in frame.free]
        cp.minimize(cp_model.LinearExpr.weighted_sum(starts, list(pulls)))
    return window
