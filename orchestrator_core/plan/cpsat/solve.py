"""CP-SAT on an instance, from coarse ticks to fine ones, step by step.

Bounds in ticks rise one by one, so a model with a few hundred ticks is often solved to the end
where one with millions proves nothing; its bound is a little weaker, never wrong. Each round hands
its schedule and its bound to the next, finer one. Where the times are whole numbers of a tick that
is not too short, there is one round only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator

from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.plan.cpsat.best import Best
from orchestrator_core.plan.cpsat.expand import expand
from orchestrator_core.plan.cpsat.hint import hint
from orchestrator_core.plan.cpsat.kinds import Kinds, kinds_of
from orchestrator_core.plan.cpsat.model import build_model
from orchestrator_core.plan.cpsat.reach import reach
from orchestrator_core.plan.cpsat.rough import lateness, rough_schedule
from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.cpsat.thread import BetterBound, End, SearchThread, Solution
from orchestrator_core.plan.cpsat.ticks import MOST_TICKS, Ticks
from orchestrator_core.plan.cpsat.variables import Variables
from orchestrator_core.plan.cpsat.wire import Answer, Limits
from orchestrator_core.plan.schedule import Schedule

ROUNDS = (200, 2000, MOST_TICKS)
"""Ticks in the makespan of the best known schedule, round by round."""

FIRST_TICKS = 10_000
"""Ticks in the horizon while no schedule is known; that one is many makespans long."""

EXACT_TICKS = 20_000
"""Ticks in the horizon up to which exact ones need no coarser ones before them."""

PLACING = ("no_lp", "objective_lb_search")
TIMING = ("no_lp", "objective_lb_search_max_lp")
"""Strategies of the search workers, where tasks may choose among workers, and where they may not;
one more worker tries large neighbourhoods. The first proves by conflicts what linear programs do
not see, the second raises the bound step by step; docs/decisions/0008-cp-sat.md has figures."""

PAUSE = 0.03
"""Seconds after which a step ends that has brought nothing."""

_SHARE = 0.4
"""Of what is left of the limits, for a round that is not the last."""

Listen = Callable[[Answer], None]


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
        listen: is told each better schedule and each better bound.
    """
    best = Best(instance, incumbent, lower_bound)
    steps = search(best, limits)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            if best.news() is not None:
                listen(best.answer())
            return best.answer(end.value)
        if best.news() is not None:
            listen(best.answer())


def search(best: Best, limits: Limits) -> Generator[None, None, str]:
    """Betters `best`, step by step; returns the status of the last round. Between two steps others
    may better it too. A search that is left is stopped."""
    status, work = "", limits.work
    kinds = kinds_of(best.instance)
    for most in _rounds(best):
        if best.within(limits.gap):
            return "OPTIMAL"
        v = _state(best, kinds, most)
        if v is None:
            return "INFEASIBLE"
        last = v.expanded.ticks.exact or most == MOST_TICKS
        end = yield from _round(
            best, kinds, v, _solver(v, limits, work, 1.0 if last else _SHARE), limits
        )
        status = end.status
        work = None if work is None else max(0.0, work - end.work)
        if last or status == "INFEASIBLE":
            break
    return "OPTIMAL" if best.within(limits.gap) else status


def _rounds(best: Best) -> Iterator[int]:
    """The horizon's ticks, round by round."""
    if best.schedule is None:
        yield FIRST_TICKS
    yield from ROUNDS


def _state(best: Best, kinds: Kinds, most: int) -> Variables | None:
    """The model for the next round; None if it is plain that it has no solution."""
    makespan = None if best.schedule is None else best.schedule.makespan
    known = None if makespan is None else reach(kinds.instance, makespan)
    if makespan is not None and known is None:
        return None
    expanded = expand(kinds.instance, makespan, max(most, EXACT_TICKS), known)
    if not expanded.ticks.exact:
        expanded = expand(kinds.instance, makespan, most, known)
    if not all(unit.choices for unit in expanded.units):
        return None
    v = build_model(expanded, _lowest(expanded.ticks, best.lower_bound))
    hint(v, None if best.schedule is None else kinds.merged(best.schedule))
    return v


def _lowest(ticks: Ticks, lower_bound: float) -> int:
    """The ticks that no makespan of the model is below; bounds carry some floating-point noise."""
    careful = lower_bound * (1 - 1e-9)
    return ticks.ceil(careful) if ticks.exact else ticks.floor(careful)


def _solver(v: Variables, limits: Limits, work: float | None, share: float) -> cp_model.CpSolver:
    solver = new_solver()
    parameters = solver.parameters
    parameters.random_seed = limits.seed % 2**31
    parameters.relative_gap_limit = 1.0 - 1.0 / (1.0 + limits.gap)  # of the makespan; 1 for any
    left = max(0.0, limits.until - time.monotonic())
    if work is None:
        parameters.max_time_in_seconds = share * left
        parameters.num_workers = limits.workers
        placing = any(len(unit.workers) > 1 for unit in v.expanded.units)
        if limits.workers > 2:
            parameters.subsolvers.extend(PLACING if placing else TIMING)
    else:
        parameters.max_time_in_seconds = left
        parameters.max_deterministic_time = share * work
        # Strategies that take turns (`interleave_search`) gave different schedules of equal
        # makespan once in a while; a single one does not.
        parameters.num_workers = 1
    return solver


def _round(
    best: Best, kinds: Kinds, v: Variables, solver: cp_model.CpSolver, limits: Limits
) -> Generator[None, None, End]:
    thread = SearchThread(v.cp, solver, lambda value: rough_schedule(v, value))
    pause = PAUSE if limits.work is None else None
    try:
        for event in thread.events(pause):
            if isinstance(event, Solution):
                best.offer(kinds.restored(event.rough), lateness(v))
            elif isinstance(event, BetterBound):
                best.prove(v.expanded.ticks.seconds(math.ceil(event.ticks - 1e-6)))
            elif isinstance(event, End):
                return event
            if best.within(limits.gap):
                return End("OPTIMAL", 0.0)
            if time.monotonic() > limits.until:
                return End("UNKNOWN", 0.0)
            yield
    finally:
        thread.stop()
    return End("UNKNOWN", 0.0)
