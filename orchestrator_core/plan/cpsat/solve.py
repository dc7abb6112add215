"""CP-SAT on an instance, from coarse ticks to fine ones. In the solver's process.

Bounds in ticks rise one by one, so a model with a few hundred ticks is often solved to the end
where one with millions proves nothing; its bound is a little weaker, never wrong. Each round hands
its schedule and its bound to the next, finer one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.best import Best, Listen
from orchestrator_core.plan.cpsat.expand import expand
from orchestrator_core.plan.cpsat.hint import hint
from orchestrator_core.plan.cpsat.model import build_model
from orchestrator_core.plan.cpsat.rough import lateness, rough_schedule
from orchestrator_core.plan.cpsat.ticks import MOST_TICKS, Ticks
from orchestrator_core.plan.cpsat.variables import Variables
from orchestrator_core.plan.cpsat.wire import Answer, Limits
from orchestrator_core.plan.schedule import Schedule

ROUNDS = (200, 2000, MOST_TICKS)
"""Ticks in the makespan of the best known schedule, round by round."""

FIRST_TICKS = 10_000
"""Ticks in the horizon while no schedule is known; that one is many makespans long."""

_SHARE = 0.4
"""Of what is left of the limits, for a round that is not the last."""


def solve(
    instance: Instance,
    incumbent: Schedule | None,
    lower_bound: float,
    limits: Limits,
    listen: Listen = lambda answer: None,
) -> Answer:
    """The best answer within the limits; its status is that of the last round.

    Args:
        incumbent: a valid schedule to begin with; nothing worse is looked for.
        lower_bound: proven already, in seconds.
        listen: is told each better schedule and each better bound, from the search's threads.
    """
    best = Best(instance, incumbent, lower_bound, listen)
    status, work = "", limits.work
    if best.within(limits.gap):
        return best.answer("OPTIMAL")
    for most in _rounds(best):
        v = _state(best, most)
        exact = v.expanded.ticks.exact
        last = exact or most == MOST_TICKS
        solver = _solver(limits, work, 1.0 if last else _SHARE)
        status = _search(solver, v, best)
        work = None if work is None else max(0.0, work - solver.deterministic_time)
        if last or status == "INFEASIBLE" or best.within(limits.gap):
            break
    return best.answer("OPTIMAL" if best.within(limits.gap) else status)


def _rounds(best: Best) -> Iterator[int]:
    """The horizon's ticks, round by round."""
    if best.schedule is None:
        yield FIRST_TICKS
    yield from ROUNDS


def _state(best: Best, most: int) -> Variables:
    makespan = None if best.schedule is None else best.schedule.makespan
    expanded = expand(best.instance, makespan, most)
    v = build_model(expanded, _lowest(expanded.ticks, best.lower_bound))
    hint(v, best.schedule)
    return v


def _lowest(ticks: Ticks, lower_bound: float) -> int:
    """The ticks that no makespan of the model is below; bounds carry some floating-point noise."""
    careful = lower_bound * (1 - 1e-9)
    return ticks.ceil(careful) if ticks.exact else ticks.floor(careful)


def _solver(limits: Limits, work: float | None, share: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.random_seed = limits.seed % 2**31
    parameters.relative_gap_limit = limits.gap / (1.0 + limits.gap)
    left = max(0.0, limits.until - time.time())
    if work is None:
        parameters.max_time_in_seconds = share * left
        parameters.num_workers = limits.workers
    else:
        parameters.max_time_in_seconds = left
        parameters.max_deterministic_time = share * work
        # Strategies that take turns (`interleave_search`) gave different schedules of equal
        # makespan once in a while; a single one does not.
        parameters.num_workers = 1
    return solver


def _search(solver: cp_model.CpSolver, v: Variables, best: Best) -> str:
    def prove(ticks: float) -> None:
        best.prove(v.expanded.ticks.seconds(math.ceil(ticks - 1e-6)))

    solver.best_bound_callback = prove
    status = solver.solve(v.cp, _Watch(v, best))
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        best.offer(rough_schedule(v, solver.value), lateness(v))
        prove(solver.best_objective_bound)
    return str(solver.status_name(status))


class _Watch(cp_model.CpSolverSolutionCallback):
    """Offers each solution."""

    def __init__(self, v: Variables, best: Best) -> None:
        super().__init__()
        self._v, self._best = v, best

    def on_solution_callback(self) -> None:
        self._best.offer(rough_schedule(self._v, self.value), lateness(self._v))
