"""Instances without any schedule: where a planner proves it, the portfolio says so."""

from __future__ import annotations

import math

import pytest

from orchestrator_core import Budget, PlanningFailed, ProvenInfeasible
from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.board import Board
from orchestrator_core.plan.cpsat.planner import CpSatPlanner
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.portfolio import plan
from tests.plan.asking import ask
from tests.plan.papers import topcuoglu

PATIENT = Budget(seconds=60.0)


def two_by_ten() -> Instance:
    """Two tasks of 6 s on one worker, both to end by 10 s."""
    tasks = [Task(name, seconds=6, deadline=10) for name in "ab"]
    return Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0")]))


def test_the_solver_proposes_an_infinite_bound() -> None:
    found = ask(CpSatPlanner(), Brief(two_by_ten(), PATIENT))
    assert found.schedule is None
    assert found.lower_bound == math.inf


def test_an_incumbent_that_cannot_be_bettered_is_no_such_proof() -> None:
    instance = topcuoglu()
    best = ask(CpSatPlanner(), Brief(instance, PATIENT)).schedule
    found = ask(CpSatPlanner(), Brief(instance, PATIENT, incumbent=best))
    assert math.isfinite(found.lower_bound)


@pytest.mark.parametrize("names", [["cpsat"], None])
def test_a_plan_names_who_proved_it(names: list[str] | None) -> None:
    with pytest.raises(ProvenInfeasible, match=r"no schedule keeps .* proven by CP-SAT") as raised:
        plan(two_by_ten(), PATIENT, names)
    assert isinstance(raised.value, PlanningFailed)


def test_it_is_proven_in_steps_too() -> None:
    with pytest.raises(ProvenInfeasible):
        plan(two_by_ten(), Budget(iterations=50), ["cpsat"])


def test_a_schedule_refutes_whoever_says_that_there_is_none() -> None:
    board = Board(topcuoglu(), Budget(), MAKESPAN)
    board.consider("wrong", Proposal(lower_bound=math.inf), 0.0)
    assert board.infeasible
    assert board.good_enough
    board.consider("heft", next(LIST_PLANNERS[0].plan(Brief(topcuoglu()))), 0.0)
    assert not board.infeasible
    assert board.result(0.0).lower_bound == 0.0
    board.consider("wrong", Proposal(lower_bound=math.inf), 0.0)
    assert board.attempts["wrong"].note.endswith("exceeds a schedule of 80")
