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
from orchestrator_core.plan.objective import MAKESPAN, Objective
from orchestrator_core.plan.planner import Brief, Proposal
from orchestrator_core.plan.portfolio import plan
from tests.plan.asking import ask
from tests.plan.papers import topcuoglu

PATIENT = Budget(seconds=60.0)


def two_by_ten() -> Instance:
    """Two tasks of 6 s on one worker, both to end by 10 s."""
    tasks = [Task(name, seconds=6, deadline=10) for name in "ab"]
    return Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0")]))


def unlike(n: int, last: float) -> Instance:
    """n independent tasks of 3 s on a worker and on two threads of half its speed: 1.5 s each of
    them all. What the fastest alone would need says less than half of that."""
    tasks = [Task(f"t{i}", seconds=3, deadline=last) for i in range(n)]
    workers = [Worker("fast", speed=2), Worker("slow", threads=2)]
    return Instance.price(TaskGraph.from_tasks(tasks), Cluster(workers))


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_what_workers_of_unlike_speeds_cannot_do_together_is_proven_at_once(seconds: float) -> None:
    """40 tasks take (40 x 3) / (2 + 1 + 1) = 30 s."""
    why = r"all workers together need 30 s .* 't0' \(29 s\), .* more"
    with pytest.raises(ProvenInfeasible, match=why):
        plan(unlike(40, 29.0), Budget(seconds=seconds))
    assert plan(unlike(40, 31.0), Budget(seconds=seconds)).makespan <= 31.0


def test_a_bound_beyond_the_last_deadline_proves_that_there_is_none() -> None:
    board = Board(unlike(4, 9.0), Budget(), MAKESPAN)
    board.consider("proving", Proposal(lower_bound=9.0, method="a walk"), 0.0)
    assert not board.infeasible
    board.consider("proving", Proposal(lower_bound=10.5, method="a walk"), 0.0)
    assert board.infeasible
    with pytest.raises(ProvenInfeasible, match=r"a walk: it all takes 10.5 s .* end by 9 s"):
        board.result(0.0)


def test_a_bound_beyond_some_deadlines_proves_nothing() -> None:
    tasks = [Task("a", seconds=3, deadline=4), Task("b", seconds=3)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w0")]))
    for given, objective in ((instance, "makespan"), (unlike(2, 9.0), "price")):
        board = Board(given, Budget(), Objective.of(objective))
        board.consider("proving", Proposal(lower_bound=12.0), 0.0)
        assert board.bound.seconds == 12.0


def test_what_nobody_waits_for_may_end_after_the_last_deadline() -> None:
    """Of three equal tasks one is waited for, by what is due at 6 s: all take 12 s."""
    builder = TaskGraph.build()
    builder.task("part", seconds=3, count=3)
    builder.task("whole", seconds=3, deadline=6)
    builder.edge("part", "whole")
    result = plan(Instance.price(builder.done(), Cluster([Worker("w0")])), Budget(iterations=50))
    assert result.makespan == result.lower_bound == 12.0


def test_the_solver_proposes_an_infinite_bound() -> None:
    found = ask(CpSatPlanner(), Brief(two_by_ten(), PATIENT))
    assert found.schedule is None
    assert found.lower_bound == math.inf


def test_an_incumbent_that_cannot_be_bettered_is_no_such_proof() -> None:
    instance = topcuoglu()
    best = ask(CpSatPlanner(), Brief(instance, PATIENT)).schedule
    found = ask(CpSatPlanner(), Brief(instance, PATIENT, incumbent=best))
    assert math.isfinite(found.lower_bound)


@pytest.mark.parametrize(("names", "who"), [(["cpsat"], "CP-SAT"), (None, "the demand bound")])
def test_a_plan_names_who_proved_it(names: list[str] | None, who: str) -> None:
    with pytest.raises(ProvenInfeasible, match=f"no schedule keeps .* proven by {who}") as raised:
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
