"""Can all deadlines be kept? Quick tests, then a search, then an exact solver (real time)."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.plan.board import Board
from orchestrator_core.plan.bounds.demand import Overload, overload
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.first_bound import first_bound
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.realtime import exact
from orchestrator_core.plan.repair import replan
from orchestrator_core.plan.schedule import Schedule

MOST_BEFORE = 0.1
"""Most seconds of search before the exact solver is asked, where it takes the instance."""


@dataclass(frozen=True, slots=True)
class Proof:
    """No schedule exists: what proved it, and the overloaded window if it was one."""

    method: str
    window: Overload | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """Neither a schedule nor a proof; `note`: how near the search came."""

    note: str


@functools.cache
def load() -> None:
    """Load compiled code and start the helper, once in a process: seconds that no budget can
    shorten."""
    tiny = Instance.from_arrays([[1.0], [1.0]], [(0, 1, 1.0)], deadline=9.0)
    overload(tiny)
    _listed(tiny, np.inf)
    replan(tiny, Schedule([]), 0.0, budget=Budget(iterations=1))
    exact.start(tiny)


def prove(instance: Instance, until: float, seed: int) -> Schedule | Proof | Nothing:
    """A valid schedule, or a proof that there is none, or neither by `until` (`perf_counter`)."""
    if len(instance.graph) == 0:
        return Schedule.from_columns((), instance.cluster.names, task=())
    began = time.perf_counter()
    window = overload(instance, max(0.01, 0.2 * (until - began)))
    if window is not None:
        return Proof("demand bound", window)
    schedule = _listed(instance, until)
    if schedule is not None:
        return schedule
    board = Board(instance, Budget(seed=seed), MAKESPAN)
    board.prove(first_bound(instance, MAKESPAN, until - time.perf_counter()))
    if board.infeasible:
        return Proof(board.bound.method)
    solver = exact.Exact(instance, seed)
    if solver.able:
        exact.begin()
    total = until - began
    soon = began + (min(MOST_BEFORE, 0.2 * total) if solver.able else total)
    found, note = _descend(instance, soon, seed)
    if found is not None or not solver.able:
        return found or Nothing(note)
    board = solver.ask(until - 0.1 * total)
    if board.infeasible:
        return Proof(board.bound.method)
    found = board.incumbent
    if found is None:
        found, note = _descend(instance, until, seed + 100)
    return found or Nothing(note)


def _listed(instance: Instance, until: float) -> Schedule | None:
    """The first valid schedule of a list heuristic."""
    for planner in LIST_PLANNERS:
        if planner.unsupported(instance) is None:
            for proposal in planner.plan(Brief(instance)):
                if proposal.schedule is not None and _valid(instance, proposal.schedule):
                    return proposal.schedule
        if time.perf_counter() > until:
            break
    return None


def _descend(instance: Instance, until: float, seed: int) -> tuple[Schedule | None, str]:
    """Longer and longer searches that put deadlines before everything else."""
    seconds, note = 0.02, "no schedule was found"
    while (left := until - time.perf_counter()) > 0:
        budget = Budget(seconds=min(seconds, left), seed=seed)
        result = replan(instance, Schedule([]), 0.0, budget=budget)
        if not result.missed and _valid(instance, result.schedule):
            return result.schedule, ""
        note = f"the best schedule found misses the deadlines of {_some(result.missed)}"
        if result.blocked:
            note = f"memory or stock did not suffice for {_some(result.blocked)}"
        seconds, seed = 2.0 * seconds, seed + 1
    return None, note


def _valid(instance: Instance, schedule: Schedule) -> bool:
    try:
        check_schedule(instance, schedule)
    except InvalidSchedule:
        return False
    return True


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
