"""A solver as all models here want it, whatever else is set."""

from __future__ import annotations

from ortools.sat.python import cp_model


def new_solver(*, proves: bool = True) -> cp_model.CpSolver:
    """A solver without what loses solutions.

    CP-SAT 9.15 now and then calls a worse solution optimal, or nothing feasible. Three causes are
    known; tests have models that show them, docs/decisions/0062-what-loses-optima.md has numbers.

    - A part of presolve looks for constraints that contain each other (google/or-tools#5293).
      Without it models of 40 tasks took 1 to 5 times as long, of 16 tasks mostly as long.
    - Before the search it looks for clauses of which one literal must put a variable above some
      other, and makes them constraints, a few of which do not follow.
    - An optional interval may have an end that is not its start and its length while it is absent.
      That is for the models to leave alone: theirs have fixed lengths, or ends that always fit.

    Args:
        proves: is what it calls optimal or infeasible a bound for others? If not, the first two
            stay.
    """
    solver = cp_model.CpSolver()
    if proves:
        solver.parameters.presolve_inclusion_work_limit = 0
        solver.parameters.auto_detect_greater_than_at_least_one_of = False
    return solver
