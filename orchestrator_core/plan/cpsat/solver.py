"""A solver as all models here want it, whatever else is set."""

from __future__ import annotations

from ortools.sat.python import cp_model


def new_solver() -> cp_model.CpSolver:
    """A solver without the part of presolve that loses solutions.

    CP-SAT 9.15 looks for constraints that contain each other, and now and then calls a worse
    solution optimal, or nothing feasible, after that (google/or-tools#5293; a model of three tasks
    with 1e11 ticks is in `test_solver.py`). A bound from it would be wrong. Without that part, it
    was right in all cases that we know.
    """
    solver = cp_model.CpSolver()
    solver.parameters.presolve_inclusion_work_limit = 0
    return solver
