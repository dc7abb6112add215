"""A solver as all models here want it, whatever else is set."""

from __future__ import annotations

from ortools.sat.python import cp_model


def new_solver(*, proves: bool = True) -> cp_model.CpSolver:
    """A solver without the part of presolve that loses solutions.

    CP-SAT 9.15 looks for constraints that contain each other, and after that now and then calls a
    worse solution optimal, or nothing feasible (google/or-tools#5293; a model of three tasks is in
    `test_solver.py`). Without that part it was right wherever we know the optimum. Models of 40
    tasks took 1 to 5 times as long to be solved, of 16 tasks mostly as long.

    Args:
        proves: is what it calls optimal or infeasible a bound for others? If not, that part stays.
    """
    solver = cp_model.CpSolver()
    if proves:
        solver.parameters.presolve_inclusion_work_limit = 0
    return solver
