from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from ortools.sat.python import cp_model

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.cpsat.canonical import canonical
from orchestrator_core.plan.cpsat.expand import expand
from orchestrator_core.plan.cpsat.hint import hint
from orchestrator_core.plan.cpsat.left_shift import left_shift
from orchestrator_core.plan.cpsat.lengths import serial_seconds
from orchestrator_core.plan.cpsat.model import build_model
from orchestrator_core.plan.cpsat.solve import solve
from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.cpsat.symmetry import unit_groups, worker_classes
from orchestrator_core.plan.cpsat.variables import Variables
from orchestrator_core.plan.cpsat.wire import Answer, Limits
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.known import KNOWN, Known, instance_of
from tests.plan.tiny import tiny_instance, tiny_instances


def _solve(
    instance: Instance, incumbent: Schedule | None = None, work: float | None = None
) -> Answer:
    limits = Limits(until=time.monotonic() + 60.0, work=work, workers=1, seed=7)
    return solve(instance, incumbent, 0.0, limits)


def _solved(seeds: range) -> Iterator[tuple[int, Instance, Schedule]]:
    for seed, instance in tiny_instances(seeds):
        schedule = _solve(instance).schedule
        if schedule is not None:
            yield seed, instance, schedule


def _stretched(instance: Instance, factor: float) -> Instance:
    """The same instance on a slower clock."""
    graph, cluster = instance.graph, instance.cluster
    tasks = [
        replace(
            task,
            release=task.release * factor,
            deadline=None if task.deadline is None else task.deadline * factor,
        )
        for task in graph.tasks()
    ]
    slower = Cluster.from_matrices(
        cluster.workers,
        latency=cluster.latency * factor,
        seconds_per_byte=cluster.seconds_per_byte * factor,
        encode_seconds_per_byte=cluster.encode_seconds_per_byte * factor,
        stock=cluster.stock,
    )
    return Instance(TaskGraph.from_tasks(tasks, graph.edges()), slower, instance.seconds * factor)


@pytest.mark.parametrize("known", KNOWN, ids=[known.name for known in KNOWN])
def test_known_optimum(known: Known) -> None:
    answer = _solve(known.instance)
    assert answer.status == "OPTIMAL"
    assert answer.schedule is not None
    check_schedule(known.instance, answer.schedule)
    assert answer.schedule.makespan == pytest.approx(known.optimum), known.reason
    assert answer.lower_bound == pytest.approx(known.optimum)


@pytest.mark.parametrize("known", KNOWN, ids=[known.name for known in KNOWN])
def test_times_that_are_no_whole_ticks_still_give_valid_schedules_and_bounds(known: Known) -> None:
    """The optimum of the stretched instance is the stretched optimum; ticks cannot hold it."""
    instance = _stretched(known.instance, math.pi / 7)
    if np.isfinite(instance.graph.deadline).any():
        # A deadline that is met without a tick to spare is met in exact arithmetic only.
        instance = _stretched(known.instance, math.pi / 7 * (1 + 1e-9))
    optimum = known.optimum * math.pi / 7
    answer = _solve(instance)
    assert answer.schedule is not None
    check_schedule(instance, answer.schedule)
    assert answer.lower_bound <= optimum * (1 + 1e-8)
    assert answer.schedule.makespan == pytest.approx(optimum, rel=1e-6)
    assert answer.lower_bound == pytest.approx(optimum, rel=1e-6)


def _objective(v: Variables, **parameters: bool) -> int:
    solver = new_solver()
    solver.parameters.num_workers = 1
    for name, value in parameters.items():
        setattr(solver.parameters, name, value)
    assert solver.solve(v.cp) == cp_model.OPTIMAL
    return int(solver.value(v.makespan))


def test_coarse_ticks_never_prove_too_much() -> None:
    """Bounds from models with few ticks stay below the optimum found with exact ones."""
    for seed, instance, schedule in _solved(range(1000, 1040)):
        coarse = expand(instance, schedule.makespan, most=5)
        proven = coarse.ticks.seconds(_objective(build_model(coarse)))
        assert proven <= schedule.makespan + 1e-9, seed


def test_an_incumbent_is_a_complete_and_feasible_hint() -> None:
    """With all variables fixed to the hint, the model is solved with the incumbent's makespan."""
    for seed, instance, schedule in _solved(range(30)):
        v = build_model(expand(instance, schedule.makespan))
        hint(v, schedule)
        ticks = _objective(v, fix_variables_to_their_hinted_value=True)
        assert v.expanded.ticks.seconds(ticks) == pytest.approx(schedule.makespan), seed


def test_hint_forgets_earlier_hints() -> None:
    instance = KNOWN[0].instance
    v = build_model(expand(instance))
    hint(v, _solve(instance).schedule)
    assert len(v.cp.proto.solution_hint.vars) > 0
    hint(v, None)
    assert len(v.cp.proto.solution_hint.vars) == 0


def test_same_work_gives_the_same_schedule() -> None:
    instance = _stretched(tiny_instance(0), math.e)
    first, again = (_solve(instance, work=0.5) for _ in range(2))
    assert first.schedule is not None
    assert again.schedule is not None
    assert first.schedule.to_json() == again.schedule.to_json()
    assert first.lower_bound == again.lower_bound


def test_nothing_worse_than_the_incumbent_comes_back() -> None:
    instance = KNOWN[2].instance
    best = _solve(instance).schedule
    answer = _solve(instance, incumbent=best)
    assert answer.schedule is None
    assert answer.status == "OPTIMAL"
    assert answer.lower_bound == pytest.approx(6.0)


def test_improvements_are_told_as_they_come() -> None:
    told: list[Answer] = []
    answer = solve(
        KNOWN[2].instance, None, 0.0, Limits(time.monotonic() + 60.0, workers=1), told.append
    )
    spans = [a.schedule.makespan for a in told if a.schedule is not None]
    bounds = [a.lower_bound for a in told]
    assert spans == sorted(spans, reverse=True)
    assert bounds == sorted(bounds)
    assert told[-1].schedule == answer.schedule


def test_exchangeable_units_are_found() -> None:
    instance = instance_of(
        [
            Task("free", seconds=1, count=3),
            Task("map", seconds=1, count=4),
            Task("reduce", seconds=1, count=2),
            Task("one", seconds=1, count=2),
            Task("two", seconds=1, count=2),
        ],
        [Worker("w0")],
        [Edge("map", "reduce", multiplicity=2), Edge("one", "two")],
    )
    expanded = expand(instance)

    def names(column: tuple[int, ...]) -> tuple[str, ...]:
        units = (expanded.units[u] for u in column)
        return tuple(f"{instance.graph.names[unit.task]}{unit.number}" for unit in units)

    groups = [[names(column) for column in group] for group in unit_groups(expanded)]
    assert groups == [
        [("free0",), ("free1",), ("free2",)],
        [("map0",), ("map1",)],
        [("map2",), ("map3",)],
        [("one0", "two0"), ("one1", "two1")],
    ]


def test_workers_are_exchangeable_only_with_the_same_links() -> None:
    alike = [Worker(f"w{i}", kind=f"k{i}") for i in range(4)]
    graph = TaskGraph.from_tasks([Task("a", seconds=1)])
    slow = {("w2", "w3"): Link(latency=1)}
    assert worker_classes(Instance.price(graph, Cluster(alike))) == [[0, 1, 2, 3]]
    assert worker_classes(Instance.price(graph, Cluster(alike, links=slow))) == [[0, 1], [2, 3]]
    pinned = TaskGraph.from_tasks([Task("a", seconds=1, eligible=("w0", "w1"))])
    assert worker_classes(Instance.price(pinned, Cluster(alike))) == [[0, 1], [2, 3]]


def test_canonical_schedule_is_the_same_up_to_names() -> None:
    instance = instance_of([Task("a", seconds=1, count=2)], [Worker("w0"), Worker("w1")])
    schedule = Schedule(
        [Assignment("a", "w1", 4, 5, instance=0), Assignment("a", "w1", 0, 1, instance=1)]
    )
    renamed = canonical(expand(instance), schedule)
    assert list(renamed.assignments) == [
        Assignment("a", "w0", 0, 1, instance=0),
        Assignment("a", "w0", 4, 5, instance=1),
    ]


def test_left_shift_keeps_the_order_and_drops_the_waiting() -> None:
    instance = instance_of([Task("a", seconds=0.7), Task("b", seconds=1.1)], [Worker("w0")])
    rough = Schedule([Assignment("a", "w0", 5, 5.5), Assignment("b", "w0", 2, 3)])
    shifted = left_shift(instance, rough)
    assert shifted is not None
    check_schedule(instance, shifted)
    assert {a.task: (a.start, a.end) for a in shifted.assignments} == {
        "b": (0, 1.1),
        "a": (1.1, pytest.approx(1.8)),
    }


def test_left_shift_orders_what_was_too_short_for_a_tick() -> None:
    instance = instance_of([Task(n, seconds=0.2) for n in "abc"], [Worker("w0")])
    rough = Schedule([Assignment(n, "w0", 0, 0) for n in "abc"])
    shifted = left_shift(instance, rough)
    assert shifted is not None
    check_schedule(instance, shifted)
    assert shifted.makespan == pytest.approx(0.6)


def test_left_shift_of_many_tasks_in_a_row_takes_little_memory() -> None:
    """Each of 1,000 tasks is to follow the one before: that takes 1.3 MB with the events. Told of
    all pairs, the same takes 106 MB."""
    instance = Instance.from_arrays(np.full((1000, 1), 2.0), [])
    rough = Schedule([Assignment(f"t{k}", "w0", 3 * k, 3 * k + 2) for k in range(1000)])
    tracemalloc.start()
    shifted = left_shift(instance, rough)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shifted is not None
    assert shifted.makespan == 2000.0
    assert most < 10e6


def test_everything_can_be_done_within_the_serial_horizon() -> None:
    for seed, instance, schedule in _solved(range(30)):
        assert schedule.makespan <= serial_seconds(instance), seed
