from __future__ import annotations

import math

import pytest
from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.graph import Cluster, Edge, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.expand import expand
from orchestrator_core.plan.cpsat.lengths import serial_seconds
from orchestrator_core.plan.cpsat.model import build_model
from orchestrator_core.plan.cpsat.objective import minimise
from orchestrator_core.plan.cpsat.objective_planner import ObjectiveCpSat
from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.objectives.bounds import value_bound
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.planners import OBJECTIVE_PLANNERS
from orchestrator_core.plan.objectives.search import ObjectiveSearch
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Schedule
from orchestrator_core.plan.time_indexed import optimal_value
from tests.plan.objectives.dressed import dressed_instances

LONGEST = 22
"""Ticks of the horizon beyond which the oracle takes too long for a test."""

Solved = tuple[tuple[float, ...], float]


def _by_cpsat(instance: Instance, objective: str) -> Solved | None:
    """(values, bound on the first), or None if there is no schedule."""
    v = build_model(expand(instance))
    minimised = minimise(v, Objective.of(objective))
    solver = new_solver()
    solver.parameters.num_workers = 1
    status = solver.solve(v.cp)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    bound = minimised.lower_bound(solver.best_objective_bound)
    return minimised.value(solver.value), bound


def _best_planned(instance: Instance, objective: Objective) -> Schedule | None:
    judge, best = Judge(instance, objective), None
    for planner in OBJECTIVE_PLANNERS:
        if planner.unsupported(instance, objective) is None:
            for proposal in planner.plan(Brief(instance, Budget(), objective, best)):
                if proposal.schedule is not None:
                    check_schedule(instance, proposal.schedule)
                    value = judge.value(proposal.schedule)
                    assert judge.better(value, None if best is None else judge.value(best))
                    best = proposal.schedule
    return best


def _agree(seed: int, instance: Instance, objective: str) -> bool:
    """bound <= oracle = CP-SAT <= planners; is there a schedule at all?"""
    solved = _by_cpsat(instance, objective)
    if solved is None:
        with pytest.raises(InfeasibleInstance):
            optimal_value(instance, objective, 1.0)
        return False
    optimum = optimal_value(instance, objective, 1.0)
    check_schedule(instance, optimum.schedule)
    assert evaluate(instance, optimum.schedule, objective) == pytest.approx(optimum.value), seed
    assert solved[0] == pytest.approx(optimum.value), seed
    assert solved[1] == pytest.approx(optimum.value[0]), seed
    assert value_bound(instance, objective).value <= optimum.value[0] + 1e-9, seed
    planned = _best_planned(instance, Objective.of(objective))
    if planned is not None:
        assert evaluate(instance, planned, objective)[0] >= optimum.value[0] - 1e-9, seed
    return True


@pytest.mark.parametrize("objective", ["tardiness", "price", "busy-price", "memory"])
def test_bound_oracle_cpsat_and_planners_agree(objective: str) -> None:
    tried = 0
    for seed, instance in dressed_instances(range(200)):
        if tried < 60 and serial_seconds(instance) <= LONGEST:
            tried += _agree(seed, instance, objective)
    assert tried == 60


@pytest.mark.parametrize("objective", ["tardiness,makespan", "price,makespan", "makespan,memory"])
def test_several_criteria_agree(objective: str) -> None:
    for seed, instance in dressed_instances(range(150, 180)):
        if serial_seconds(instance) <= LONGEST:
            _agree(seed, instance, objective)


@pytest.mark.parametrize("objective", ["tardiness,makespan", "price", "memory"])
def test_cpsat_proves_what_it_finds(objective: str) -> None:
    proven = 0
    for seed, instance in dressed_instances(range(250, 270)):
        if ObjectiveCpSat().unsupported(instance, Objective.of(objective)):
            continue
        best, bound = None, 0.0
        brief = Brief(instance, Budget(iterations=2000), Objective.of(objective))
        for proposal in ObjectiveCpSat().plan(brief):
            best = proposal.schedule or best
            bound = max(bound, proposal.lower_bound)
        if best is not None:
            check_schedule(instance, best)
            value = evaluate(instance, best, objective)
            assert bound == pytest.approx(value[0]), seed
            proven += 1
    assert proven >= 10


def test_cpsat_settles_all_criteria() -> None:
    """What the end of its search proves is what the time-indexed program finds."""
    settled, objective = 0, "makespan,price"
    for seed, instance in dressed_instances(range(250, 265)):
        if ObjectiveCpSat().unsupported(instance, Objective.of(objective)):
            continue
        brief = Brief(instance, Budget(iterations=2000), Objective.of(objective))
        proposals = list(ObjectiveCpSat().plan(brief))
        found = [p.schedule for p in proposals if p.schedule is not None]
        if found and (least := proposals[-1].least) is not None:
            assert evaluate(instance, found[-1], objective) == pytest.approx(least), seed
            settled += 1
    assert settled >= 5


def test_cpsat_proves_that_there_is_no_schedule() -> None:
    tasks = [Task(f"t{i}", seconds=2, deadline=3) for i in range(2)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w")]))
    brief = Brief(instance, Budget(iterations=2000), Objective.of("price"))
    assert [p.lower_bound for p in ObjectiveCpSat().plan(brief)][-1] == math.inf


def test_a_lease_begins_as_late_as_a_deadline_allows() -> None:
    """Durations and releases are multiples of 2 s, the deadline is not: a ends at 1 s, b at 6 s."""
    tasks = [Task("a", seconds=0, deadline=1), Task("b", seconds=4, release=2)]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "b")])
    instance = Instance.price(graph, Cluster([Worker("w", price=3600.0)]))
    brief = Brief(instance, Budget(iterations=2000), Objective.of("price"))
    proposals = list(ObjectiveCpSat().plan(brief))
    found = [p.schedule for p in proposals if p.schedule is not None]
    assert evaluate(instance, found[-1], "price") == pytest.approx((5.0,))
    assert max(p.lower_bound for p in proposals) == pytest.approx(5.0)


@pytest.mark.parametrize(("due", "settled"), [(5.5, True), (5.123456789012, False)])
def test_a_lease_begins_as_late_as_a_due_date_allows(due: float, settled: bool) -> None:
    """All times are multiples of 1 s but the due date: w1, which b needs from 10 to 11 s, costs 6.5
    if `a` waits there until 4.5 s, and 7 if it begins at 4 s; with w2 for `a` it is 6.9. Where the
    date has no tick in common with the rest, nothing is said of the price."""
    tasks = [
        Task("c", seconds=10, eligible=("w0",)),
        Task("a", seconds=1, due=due, eligible=("w1", "w2")),
        Task("b", seconds=1, eligible=("w1",)),
    ]
    workers = [Worker("w0"), Worker("w1", price=3600.0), Worker("w2", price=3600.0 * 5.9)]
    graph = TaskGraph.from_tasks(tasks, [Edge("c", "b")])
    instance = Instance.price(graph, Cluster(workers))
    brief = Brief(instance, Budget(iterations=2000), Objective.of("tardiness,price"))
    proposals = list(ObjectiveCpSat().plan(brief))
    assert max(p.lower_bound for p in proposals) == 0.0
    assert any(p.schedule is not None for p in proposals)
    assert proposals[-1].least == (pytest.approx((0.0, 12.0 - due)) if settled else None)


def test_what_takes_no_time_is_not_paused() -> None:
    """The output of `a` takes 5 bytes until `b` is released, unless both are done just then."""
    tasks = [
        Task("a", seconds=0, output_bytes=5, checkpoints=(0.5,)),
        Task("b", seconds=0, release=4, checkpoints=(0.5,)),
        Task("c", seconds=2, output_bytes=1),
    ]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "b")])
    instance = Instance.price(graph, Cluster([Worker("w", memory=50)]))
    brief = Brief(instance, Budget(iterations=2000), Objective.of("memory"))
    found = [p.schedule for p in ObjectiveCpSat().plan(brief) if p.schedule is not None]
    check_schedule(instance, found[-1])
    assert evaluate(instance, found[-1], "memory") == (0.0,)


def test_tardiness_bound_counts_shared_threads() -> None:
    """Four tasks of 2 s due at 2 on one thread end at 2, 4, 6, 8: late by 0 + 2 + 4 + 6."""
    tasks = [Task(f"t{i}", seconds=2, due=2) for i in range(4)]
    instance = Instance.price(TaskGraph.from_tasks(tasks), Cluster([Worker("w")]))
    bound = value_bound(instance, "tardiness")
    assert bound.value == pytest.approx(12.0)
    assert bound.method == "work on all threads against due dates"


def test_price_bound_counts_the_dearest_path() -> None:
    """A chain takes one thread of two at a time, but pays for the whole worker."""
    tasks = [Task(f"t{i}", seconds=5) for i in range(3)]
    graph = TaskGraph.from_tasks(tasks, [Edge("t0", "t1"), Edge("t1", "t2")])
    instance = Instance.price(graph, Cluster([Worker("w", threads=2, price=3600.0)]))
    assert value_bound(instance, "price").value == pytest.approx(15.0)
    assert value_bound(instance, "busy-price").value == pytest.approx(7.5)


def _shop() -> Instance:
    """Thirty tasks in layers on four workers, the fast ones dear."""
    tasks = [
        Task(f"t{i}", seconds=2 + i % 5, output_bytes=3 + i % 4, memory=1 + i % 3, due=10 + i)
        for i in range(30)
    ]
    edges = [Edge(f"t{i}", f"t{j}") for j in range(6, 30) for i in {j - 6, j - 4 - j % 2}]
    workers = [Worker(f"w{i}", speed=1.0 + i, price=3600.0 * (1 + i) ** 2) for i in range(4)]
    return Instance.price(TaskGraph.from_tasks(tasks, edges), Cluster(workers))


@pytest.mark.parametrize("criterion", ["price,makespan", "memory,makespan", "makespan,price"])
def test_search_betters_an_incumbent_and_repeats_itself(criterion: str) -> None:
    instance, objective = _shop(), Objective.of(criterion)
    start = optimal_start(instance)
    found = [_searched(instance, objective, start) for _ in range(2)]
    check_schedule(instance, found[0])
    assert found[0].to_json() == found[1].to_json()
    assert evaluate(instance, found[0], criterion) < evaluate(instance, start, criterion)


def optimal_start(instance: Instance) -> Schedule:
    """Some schedule: that of the last subset of workers."""
    planner = next(p for p in OBJECTIVE_PLANNERS if p.name == "price-subsets")
    return list(planner.schedules(instance))[3]


def _searched(instance: Instance, objective: Objective, start: Schedule) -> Schedule:
    brief, best = Brief(instance, Budget(iterations=300), objective, start), start
    for proposal in ObjectiveSearch().plan(brief):
        best = proposal.schedule or best
    return best


def test_planners_say_what_they_are_for() -> None:
    instance = _shop()
    silent = {
        planner.name: planner.unsupported(instance, Objective.of("makespan"))
        for planner in (*OBJECTIVE_PLANNERS, ObjectiveSearch())
    }
    assert all(silent.values()), silent
    bare = Instance.price(TaskGraph.from_tasks([Task("a", seconds=1)]), Cluster([Worker("w")]))
    lists = next(p for p in OBJECTIVE_PLANNERS if p.name == "tardiness-lists")
    assert lists.unsupported(bare, Objective.of("tardiness")) == "there is no due date to order by"
