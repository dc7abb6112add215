"""What CP-SAT calls optimal is optimal."""

from __future__ import annotations

from pathlib import Path

from ortools.sat.python import cp_model

import orchestrator_core
from orchestrator_core.plan.cpsat.solver import new_solver

LENGTHS = {"a": (0, 16666628877), "b": (33333347691, 16666695496), "c": (16666634844, 33333520550)}
"""Ticks of each task on two workers."""

LATEST = {"a": 66666652309, "b": 83333304504, "c": 83333365156}
HEAD, OTHER_HEAD, LEAST, END = 33333244520, 33333407787, 50000103284, 10**11


def three_tasks() -> cp_model.CpModel:
    """b after a, c beside them, and what is known of the makespan already: at least `LEAST`."""
    cp = cp_model.CpModel()
    on = {t: (cp.new_bool_var(""), cp.new_bool_var("")) for t in LENGTHS}
    start = {t: cp.new_int_var(0 if t == "a" else HEAD, LATEST[t], "") for t in LENGTHS}
    end = {t: cp.new_int_var(0, 2 * END, "") for t in LENGTHS}
    makespan = cp.new_int_var(LEAST, END, "")
    pieces: tuple[list[cp_model.IntervalVar], ...] = ([], [])
    for t, lengths in LENGTHS.items():
        cp.add_exactly_one(on[t])
        cp.add(end[t] == start[t] + sum(k * x for k, x in zip(lengths, on[t], strict=True)))
        for w in (0, 1):
            if lengths[w] > 0:
                piece = cp.new_optional_interval_var(start[t], lengths[w], end[t], on[t][w], "")
                pieces[w].append(piece)
    cp.add(start["b"] >= HEAD * on["b"][0] + OTHER_HEAD * on["b"][1])
    cp.add_no_overlap(pieces[0])
    cp.add_cumulative(pieces[1], [1, 1, 1], 2)
    cp.add(start["b"] >= end["a"])
    cp.add(start["b"] >= end["a"] + (END + 1) * on["b"][1]).only_enforce_if(on["a"][0])
    cp.add(makespan >= end["a"] + LENGTHS["b"][0] * (on["a"][0] + on["a"][1]))
    cp.add(makespan >= end["b"])
    cp.add(makespan >= end["c"])
    cp.add(makespan >= HEAD + LENGTHS["b"][0] * on["b"][0] + LENGTHS["c"][0] * on["c"][0])
    cp.minimize(makespan)
    return cp


def test_no_solution_is_lost_in_presolve() -> None:
    """a and b on the second worker end in time, and so does c on the first."""
    cp, solver = three_tasks(), new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.symmetry_level = 0
    assert solver.solve(cp) == cp_model.OPTIMAL
    assert solver.objective_value == LEAST


def test_all_solvers_are_made_in_one_place() -> None:
    root = Path(orchestrator_core.__file__).parent
    found = [path for path in root.rglob("*.py") if "CpSolver()" in path.read_text("utf-8")]
    assert [path.name for path in found] == ["solver.py"]
