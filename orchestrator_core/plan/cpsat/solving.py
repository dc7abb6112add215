"""Solving a window in a thread of its own, so that others may work between two looks at it."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

from ortools.sat.python import cp_model

from orchestrator_core.plan.cpsat.sub_dag import SubDag
from orchestrator_core.plan.cpsat.thread import BetterBound, End, Read, SearchThread, Solution
from orchestrator_core.plan.schedule import Schedule

PAUSE = 0.03
"""Seconds after which a look ends that has found nothing new."""

NOTHING = Schedule([])
"""What is read from the solution of a window that leaves tasks out."""


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound on what is minimised, in seconds, infinity if nothing fits in the makespan; is
    it the optimum of the model; and the deterministic work that it took."""

    seconds: float
    optimal: bool
    work: float


def solved(
    sub: SubDag,
    solver: cp_model.CpSolver,
    least: float,
    pause: float | None,
    read: Read = lambda value: NOTHING,
    listen: Callable[[Schedule], None] = lambda schedule: None,
) -> Generator[None, None, Found]:
    """Solve the model as far as the solver's limits allow; a window that is left is stopped.

    Args:
        least: seconds, known already. pause: seconds between two steps; None for one step only.
        read: the schedule of a solution. listen: is told each of them.
    """
    thread = SearchThread(sub.cp, solver, read)
    try:
        for event in thread.events(pause):
            if isinstance(event, BetterBound):
                least = max(least, math.ceil(event.ticks - 1e-6) * sub.tick)
            elif isinstance(event, Solution):
                listen(event.rough)
            elif isinstance(event, End):
                infeasible = event.status == "INFEASIBLE"
                known = math.inf if infeasible else least
                return Found(known, infeasible or event.status == "OPTIMAL", event.work)
            else:
                yield
    finally:
        thread.stop()
    return Found(least, False, 0.0)
