"""The optimum of a tiny instance, under any objective."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance, UnsupportedInstance
from orchestrator_core.plan.cpsat.lengths import serial_seconds
from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.time_indexed.criteria import criterion_of
from orchestrator_core.plan.time_indexed.limits import fit_all
from orchestrator_core.plan.time_indexed.program import Program
from orchestrator_core.plan.time_indexed.read import read


@dataclass(frozen=True, slots=True)
class Optimum:
    """The smallest makespan, in seconds, and a schedule that has it."""

    makespan: float
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class OptimalValue:
    """The smallest value of each criterion, the most important first, in the units of
    `objectives/values.py`, and a schedule that has them."""

    value: tuple[float, ...]
    schedule: Schedule


def optimal_makespan(instance: Instance, tick: float, horizon: int | None = None) -> Optimum:
    """The smallest makespan of a tiny instance whose times are all whole ticks.

    Args:
        tick: seconds.
        horizon: ticks within which to look; by default enough for some optimal schedule.

    Raises:
        UnsupportedInstance: if a time is no whole number of ticks, or the program is too large.
        InfeasibleInstance: if no schedule ends within the horizon.
    """
    best = optimal_value(instance, MAKESPAN, tick, horizon)
    return Optimum(best.value[0], best.schedule)


def optimal_value(
    instance: Instance,
    objective: Objective | str,
    tick: float,
    horizon: int | None = None,
    *,
    seconds: float = math.inf,
) -> OptimalValue:
    """The least value of a tiny instance whose times, due dates too, are all whole ticks.

    Of several criteria, each is minimised with the ones before it held at their least. The default
    horizon is enough for each criterion: a gap in which nothing runs or is on its way can be cut
    out, which makes no end later, no lease longer and no peak higher. A price counts only what has
    arrived within the horizon.

    Args:
        seconds: of wall time for each criterion at most.

    Other args, Raises: as `optimal_makespan`; and UnsupportedInstance if weights, prices or bytes
        have no common unit, or the seconds are over.
    """
    if horizon is None:
        horizon = math.ceil(serial_seconds(instance) / tick - 1e-9)
    program = Program(instance, tick, horizon)
    program.refuse_if_large()
    program.state()
    fit_all(program)
    value: list[float] = []
    for name in Objective.of(objective).criteria:
        criterion = criterion_of(program, name)
        program.model.minimize(criterion.expression)
        solver = solved(program, seconds)
        least = round(solver.objective_value)
        program.model.add(criterion.expression <= least)
        value.append(least * criterion.unit)
    return OptimalValue(tuple(value), read(program, solver))


def solved(program: Program, seconds: float) -> cp_model.CpSolver:
    """The solver, with an optimal solution of the program.

    Raises:
        InfeasibleInstance: if there is none. UnsupportedInstance: if the seconds do not suffice.
    """
    solver = new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(program.model)
    if status == cp_model.INFEASIBLE:
        raise InfeasibleInstance(
            f"no schedule keeps all constraints within {program.horizon} ticks of "
            f"{program.tick:g} s"
        )
    if status != cp_model.OPTIMAL:
        raise UnsupportedInstance(f"CP-SAT ended with {solver.status_name(status)}")
    return solver
