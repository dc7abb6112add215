"""The exact solver works in another process: what happens to it there costs only its answer."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.crew import pool
from orchestrator_core.plan.realtime import Infeasible, Unknown, exact, feasibility
from orchestrator_core.plan.realtime.exact import Exact
from orchestrator_core.plan.realtime.prove import load
from tests.plan.crew.fakes import Fake

PATIENT = 60.0
"""Seconds; never used up."""


def conflict() -> Instance:
    """u and v cut the time into pieces of 3, 4 and 9 s; of two tasks of 6 s only one fits."""
    tasks = [
        Task("u", seconds=2, release=3, deadline=5),
        Task("v", seconds=2, release=9, deadline=11),
        Task("x", seconds=6, deadline=20),
        Task("y", seconds=6, deadline=20),
    ]
    return Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0")]))


def alone() -> Instance:
    """Like the conflict, but with one task of 6 s."""
    tasks = conflict().graph.tasks()
    return Instance.price(TaskGraph.from_tasks(list(tasks)[:3]), Cluster([Worker("w0")]))


def test_it_proves_that_there_is_no_schedule() -> None:
    board = Exact(conflict(), 0).ask(time.perf_counter() + PATIENT)
    assert board.infeasible
    assert board.bound.method == "CP-SAT"
    assert board.incumbent is None


def test_any_schedule_will_do() -> None:
    board = Exact(alone(), 0).ask(time.perf_counter() + PATIENT)
    assert not board.infeasible
    assert board.incumbent is not None


def test_without_time_it_is_not_asked() -> None:
    board = Exact(conflict(), 0).ask(time.perf_counter())
    assert not board.infeasible
    assert board.attempts == {}


@pytest.mark.parametrize("then", ["hang", "abort", "raise"])
def test_a_solver_that_misbehaves_costs_only_its_answer(
    monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """Its schedule misses a deadline, so that it does not count; then it does worse."""
    load()
    monkeypatch.setattr(exact, "exact_planner", Fake)
    Exact(conflict(), 0).ask(time.perf_counter() + PATIENT)  # its process has imported all it needs
    monkeypatch.setattr(exact, "exact_planner", lambda: Fake(then))
    answer = feasibility(conflict(), Budget(seconds=1.0))
    assert isinstance(answer, Unknown)
    assert "misses the deadlines" in answer.reason
    monkeypatch.undo()
    pool.end_all()
    answer = feasibility(conflict(), Budget(seconds=PATIENT))
    assert isinstance(answer, Infeasible)
    assert answer.method == "CP-SAT"


def test_after_its_process_has_ended_the_next_question_starts_another() -> None:
    load()
    pool.end_all()
    answer = feasibility(conflict(), Budget(seconds=PATIENT))
    assert isinstance(answer, Infeasible)


def test_no_solver_is_loaded_here() -> None:
    """A process that asks has no solver in it."""
    program = """
import sys
from tests.plan.realtime.test_exact import Budget, conflict
from orchestrator_core.plan.realtime import feasibility
answer = feasibility(conflict(), Budget(seconds=60.0))
print(type(answer).__name__, "ortools.sat.python.cp_model" in sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert run.stdout.split() == ["Infeasible", "False"]
