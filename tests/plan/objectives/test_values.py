from __future__ import annotations

import sys

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidInput
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.decoder import Choice, decode, to_schedule
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.engine.goal import goal_of, placement_value
from orchestrator_core.plan.objective import CRITERIA, Objective
from orchestrator_core.plan.objectives.judge import Judge
from orchestrator_core.plan.objectives.shorter_leases import shorter_leases
from orchestrator_core.plan.objectives.values import evaluate
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.plan.objectives.dressed import dressed_instances


def _two_workers() -> tuple[Instance, Schedule]:
    """a on w0 from 0 to 2; its 4 bytes are encoded for 1 s and 3 s on their way (1 s of latency,
    4 bytes at 2 bytes/s), then held on w1 until b has run there from 6 to 9; c runs on w0."""
    graph = TaskGraph.from_tasks(
        [
            Task("a", seconds=2, output_bytes=4, memory=10, due=1, weight=2),
            Task("b", seconds=3, memory=7, due=8, weight=5),
            Task("c", seconds=1, memory=3, due=20),
        ],
        [Edge("a", "b")],
    )
    cluster = Cluster(
        [Worker("w0", threads=2, price=3600.0), Worker("w1", price=7200.0)],
        link=Link(latency=1, bandwidth=2, encode_rate=4),
    )
    schedule = Schedule(
        [
            Assignment("a", "w0", 0.0, 2.0),
            Assignment("b", "w1", 6.0, 9.0),
            Assignment("c", "w0", 2.0, 3.0),
        ],
        [Transfer("a", "w0", "w1", 2.0, 3.0, 6.0, 4.0)],
    )
    instance = Instance.price(graph, cluster)
    check_schedule(instance, schedule)
    return instance, schedule


@pytest.mark.parametrize(
    ("criterion", "value", "reason"),
    [
        ("makespan", 9.0, "b ends last"),
        ("tardiness", 2 * 1 + 5 * 1, "a and b are late by a second each"),
        ("price", 6 * 1 + 6 * 2, "w0 from 0 to the arrival at 6; w1 from the sending at 3 to 9"),
        ("busy-price", (2 + 1 + 1) * 0.5 + 3 * 2, "a, the encoding and c on one of two threads; b"),
        ("memory", 11.0, "b's 7 and a's output of 4, on w1"),
    ],
)
def test_values_by_hand(criterion: str, value: float, reason: str) -> None:
    instance, schedule = _two_workers()
    assert evaluate(instance, schedule, criterion) == (pytest.approx(value),), reason
    goal, p = goal_of(instance, Objective.of(criterion)), expand(instance)
    columns = schedule.start, schedule.end, schedule.worker, p.mode_begin + schedule.mode
    assert placement_value(goal, p, *columns) == pytest.approx(value), reason


def test_an_unused_worker_costs_nothing() -> None:
    cluster = Cluster([Worker("w0", price=3600.0), Worker("w1", price=1e6)])
    instance = Instance.price(TaskGraph.from_tasks([Task("a", seconds=2)]), cluster)
    schedule = Schedule([Assignment("a", "w0", 5.0, 7.0)])
    assert evaluate(instance, schedule, "price,makespan") == (pytest.approx(2.0), 7.0)


def test_objectives_are_read_from_text() -> None:
    assert Objective.of(" tardiness , makespan").criteria == ("tardiness", "makespan")
    assert str(Objective.of("tardiness,makespan")) == "tardiness,makespan"
    with pytest.raises(InvalidInput, match="no criterion 'cost'; there are makespan, tardiness"):
        Objective.of("cost")
    with pytest.raises(InvalidInput, match="twice"):
        Objective.of("price,price")
    with pytest.raises(InvalidInput, match="names no criterion"):
        Objective(())


def test_the_second_criterion_decides_among_equals() -> None:
    instance, _ = _two_workers()
    judge = Judge(instance, Objective.of("tardiness,makespan"))
    assert judge.better((1.0, 9.0), (2.0, 3.0))
    assert judge.better((1.0 + 1e-12, 3.0), (1.0, 9.0))
    assert not judge.better((1.0, 9.0), (1.0, 9.0))
    assert judge.better((1.0, 9.0), None)


def _decoded(instance: Instance) -> Schedule | None:
    problem = expand(instance)
    found = decode(problem, Choice(problem.topological.copy()))
    return to_schedule(instance, found) if hasattr(found, "start") else None


def _worth(instance: Instance, schedule: Schedule, objective: str) -> float:
    p = expand(instance)
    columns = schedule.start, schedule.end, schedule.worker, p.mode_begin + schedule.mode
    return float(placement_value(goal_of(instance, Objective.of(objective)), p, *columns))


def test_compiled_values_are_those_of_the_schedule() -> None:
    """Makespan, tardiness and busy price exactly; for the price, transfers may be sent better."""
    for seed, instance in dressed_instances(range(200, 260)):
        schedule = _decoded(instance)
        if schedule is None:
            continue
        for criterion in ("makespan", "tardiness", "busy-price"):
            (value,) = evaluate(instance, schedule, criterion)
            assert _worth(instance, schedule, criterion) == pytest.approx(value), (seed, criterion)
        if not instance.cluster.encode_seconds_per_byte.any():
            (price,) = evaluate(instance, schedule, "price")
            assert _worth(instance, schedule, "price") <= price * (1 + 1e-9), seed
            if not np.isfinite([w.memory for w in instance.cluster.workers]).any():
                (peak,) = evaluate(instance, schedule, "memory")
                assert _worth(instance, schedule, "memory") == pytest.approx(peak), seed


@pytest.mark.parametrize("first", CRITERIA)
def test_a_goal_is_lexicographic(first: str) -> None:
    """What is plainly better in the first criterion is better, whatever the second says."""
    for _, instance in dressed_instances(range(300, 330)):
        schedule = _decoded(instance)
        if schedule is None:
            continue
        for second in CRITERIA:
            if second != first:
                alone = _worth(instance, schedule, first)
                both = _worth(instance, schedule, f"{first},{second}")
                scale = float(goal_of(instance, Objective.of(first)).scale[0]) * 1e3
                assert alone <= both <= alone + 2e-6 * scale


def test_shorter_leases_are_valid_cheaper_and_no_later() -> None:
    shorter = 0
    for seed, instance in dressed_instances(range(400, 480)):
        schedule = _decoded(instance)
        if schedule is None or np.isfinite(instance.graph.deadline).any():
            continue
        later = shorter_leases(instance, schedule)
        check_schedule(instance, later)
        before = evaluate(instance, schedule, "price,tardiness,makespan")
        after = evaluate(instance, later, "price,tardiness,makespan")
        assert all(a <= b + 1e-9 for a, b in zip(after, before, strict=True)), seed
        shorter += after[0] < before[0]
    assert shorter >= 5


def test_a_task_waits_for_the_worker_that_it_shares() -> None:
    """On w1, x could run at 0, but y must wait for a until 4: the lease need not begin before 3."""
    graph = TaskGraph.from_tasks(
        [Task("a", seconds=4), Task("x", seconds=1), Task("y", seconds=2)], [Edge("a", "y")]
    )
    instance = Instance.price(graph, Cluster([Worker("w0"), Worker("w1", price=3600.0)]))
    schedule = Schedule(
        [
            Assignment("a", "w0", 0.0, 4.0),
            Assignment("x", "w1", 0.0, 1.0),
            Assignment("y", "w1", 4.0, 6.0),
        ],
        [Transfer("a", "w0", "w1", 4.0, 4.0, 4.0, 0.0)],
    )
    assert evaluate(instance, schedule, "price") == (pytest.approx(6.0),)
    later = shorter_leases(instance, schedule)
    assert evaluate(instance, later, "price") == (pytest.approx(3.0),)


def test_a_full_worker_is_gone_through_once_for_each_of_its_tasks() -> None:
    """Four times the tasks, which all could run until the last one of the other worker ends but
    find no room for it, take about four times the calls; gone through task by task it was 16."""
    few, many = _calls_to_shorten(20), _calls_to_shorten(80)
    assert few < many < 5 * few


def _calls_to_shorten(tasks: int) -> int:
    """Of functions, for so many tasks in a row, beside a lease that could be shorter."""
    names = [f"t{k}" for k in range(tasks)]
    row = [Task(name, seconds=1) for name in names]
    graph = TaskGraph.from_tasks([*row, Task("x", seconds=1), Task("y", seconds=1)])
    instance = Instance.price(graph, Cluster([Worker("w0", price=1.0), Worker("w1", price=1.0)]))
    rows = [Assignment(name, "w0", float(k), k + 1.0) for k, name in enumerate(names)]
    rows += [Assignment("x", "w1", 0.0, 1.0), Assignment("y", "w1", tasks - 1.0, float(tasks))]
    schedule, made = Schedule(rows), list[str]()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: made.append(event) if event.endswith("call") else None)
    try:
        later = shorter_leases(instance, schedule)
    finally:
        sys.setprofile(before)
    assert evaluate(instance, later, "price") < evaluate(instance, schedule, "price")
    return len(made)
