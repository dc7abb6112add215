"""One window: freed, modelled, solved, and decoded again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.cpsat.ticks import choose_ticks
from orchestrator_core.plan.cpsat.windows.build import build_window
from orchestrator_core.plan.cpsat.windows.frame import band_size, frame
from orchestrator_core.plan.cpsat.windows.order_graph import order_graph
from orchestrator_core.plan.cpsat.windows.solution import solved_schedule
from orchestrator_core.plan.cpsat.windows.timeline import Timeline
from orchestrator_core.plan.schedule import Schedule

TICKS = 2**20
"""In the makespan, at most."""

ROUNDING = 16
"""Ticks that a gain is larger than where times are rounded to ticks: a path of many times that
were rounded down would look like a gain."""

BAND = 100
"""Most fixed items in a window's model."""


MODELLED = 5e-6
"""Deterministic units for each constraint of a model: building and presolving it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a window gave.

    Attributes:
        schedule: what the solution decodes to, not checked yet.
        work: deterministic units. ended: the solver searched the window to the end.
        complete: it did, and the window held all tasks.
    """

    schedule: Schedule | None
    work: float
    ended: bool
    complete: bool = False


def tick_seconds(line: Timeline) -> float:
    """A tick: exact where all times are multiples of one that is not too short."""
    p = line.problem
    if p.n_workers > 1 and (p.latency.any() or p.per_byte.any() or p.encode.any()):
        return line.makespan / TICKS
    times = np.unique(np.concatenate([p.seconds[np.isfinite(p.seconds)], p.release]))
    ticks = choose_ticks(times.tolist(), line.makespan, TICKS)
    return float(ticks.seconds_per_tick) if ticks.exact else line.makespan / TICKS


def open_window(
    line: Timeline,
    free: Ints,
    unit: float,
    work: float,
    seconds: float,
    seed: int,
    loose: float | None = None,
) -> Step:
    """Look for a schedule that is better by a tick at least.

    Args:
        unit: seconds of a tick. work: deterministic units that the solver may take.
        seconds: wall seconds that it may take.
        loose: if given, look for any other schedule that is longer by this part at most, for the
            windows after it to start from.
    """
    free = _narrowed(line, free)
    graph = order_graph(line, free)
    target = round(line.makespan / unit)
    if loose is not None:
        target = int(target * (1.0 + loose))
    else:
        target -= 1 if unit > 1.5 * line.makespan / TICKS else ROUNDING
    around = frame(line, graph, free, target * unit)
    everything = len(free) == line.n_tasks
    if around is None:
        return Step(None, 0.0, True, everything)
    pulls = (
        np.random.default_rng(seed).integers(-1, 3, len(free)).tolist()
        if loose is not None
        else None
    )
    window = build_window(around, unit, target, pulls)
    solver = new_solver(proves=False)  # of a window, to which nobody looks for a bound
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = work
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.random_seed = seed % 2**31
    # Measured on windows of all sorts: the LP costs more than it prunes at this size.
    solver.parameters.linearization_level = 0
    solver.parameters.symmetry_level = 0
    status = solver.solve(window.cp)
    ended = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    schedule = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        schedule = solved_schedule(window, solver.value)
    complete = status == cp_model.INFEASIBLE and everything
    took = solver.deterministic_time + MODELLED * len(window.cp.proto.constraints)
    return Step(schedule, took, ended, complete)


def _narrowed(line: Timeline, free: Ints) -> Ints:
    """As many of the free tasks as leave a band that is not too large, those in the middle."""
    middle = (line.start[free] + line.end[free]) / 2
    while len(free) > 4 and band_size(line, free) > BAND:
        keep = np.argsort(np.abs(middle - np.median(middle)), kind="stable")[: len(free) * 3 // 4]
        free, middle = free[np.sort(keep)], middle[np.sort(keep)]
    return free
