"""Hard deadlines: kept, or the smallest set that cannot be kept, known by hand or by an oracle."""

from __future__ import annotations

import itertools
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Task, TaskGraph, Worker
from orchestrator_core.plan.bounds import demand
from orchestrator_core.plan.bounds.demand import overload
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.realtime import Feasible, Infeasible, Unknown, feasibility
from orchestrator_core.plan.realtime.deadlines import with_deadlines
from tests.strategies import random_instance

PATIENT = Budget(seconds=30.0)
"""Never used up: these instances are tiny."""


def alone(workers: int = 1, **tasks: tuple[float, dict[str, Any]]) -> Instance:
    """Independent tasks: seconds and the rest of what `Task` takes."""
    return Instance.price(
        TaskGraph.from_tasks([Task(name, seconds=s, **more) for name, (s, more) in tasks.items()]),
        Cluster([Worker(f"w{i}") for i in range(workers)]),
    )


def by(deadline: float, release: float = 0.0) -> dict[str, Any]:
    return {"deadline": deadline, "release": release}


def test_a_schedule_shows_that_deadlines_can_be_kept() -> None:
    instance = alone(a=(4, by(12)), b=(4, by(4)), c=(4, by(8)), d=(1, {}))
    answer = feasibility(instance, PATIENT)
    assert isinstance(answer, Feasible)
    check_schedule(instance, answer.schedule)


def test_too_much_work_before_a_deadline() -> None:
    instance = alone(a=(4, by(10)), b=(4, by(10)), c=(4, by(10)), d=(1, by(100)), e=(2, by(99)))
    answer = feasibility(instance, PATIENT)
    assert isinstance(answer, Infeasible)
    assert answer.conflict == ("a", "b", "c")
    assert answer.smallest
    assert answer.method == "demand bound"
    assert "12 thread-seconds" in answer.reason
    assert "'a' (10 s)" in answer.reason


def test_a_conflict_that_only_a_search_can_prove() -> None:
    # u and v cut the time into pieces of 3, 4 and 9 s; of two tasks of 6 s only one fits.
    tasks = {"x": (6.0, by(20)), "y": (6.0, by(20)), "u": (2.0, by(5, 3)), "v": (2.0, by(11, 9))}
    answer = feasibility(alone(1, **tasks, z=(1.0, by(50))), PATIENT)
    assert isinstance(answer, Infeasible)
    assert answer.method == "CP-SAT"
    assert set(answer.conflict) == {"x", "y", "u", "v"}
    assert answer.smallest


def test_tasks_that_are_confined_to_one_worker() -> None:
    only = {"eligible": ("w0",), "deadline": 5.0}
    answer = feasibility(alone(3, a=(3, only), b=(3, only), c=(3, by(5))), PATIENT)
    assert isinstance(answer, Infeasible)
    assert answer.conflict == ("a", "b")
    assert "worker 'w0'" in answer.reason


@pytest.mark.parametrize("free", [0, 5])
def test_work_on_workers_of_unlike_speeds(free: int) -> None:
    """37 tasks of 3 s take (37 x 3) / (2 + 1 + 1) = 27.75 s; 36 are done in 27 s."""
    tasks = [Task(f"t{i}", seconds=3, deadline=27) for i in range(37)]
    tasks += [Task(f"free{i}", seconds=3) for i in range(free)]
    cluster = Cluster([Worker("fast", speed=2), Worker("slow", threads=2)])
    answer = feasibility(Instance.price(TaskGraph.from_tasks(tasks), cluster), PATIENT)
    assert isinstance(answer, Infeasible)
    assert answer.method == "demand bound"
    assert set(answer.conflict) == {f"t{i}" for i in range(37)}
    assert answer.smallest
    assert "all workers together need 27.75 s" in answer.reason
    assert "between 0 s and 27 s" in answer.reason


def test_work_that_comes_before_what_is_due() -> None:
    """Three dated tasks wait for all others: (39 x 3) / (2 + 1 + 1) = 29.25 s."""
    graph = TaskGraph.build()
    for i in range(36):
        graph.task(f"t{i}", seconds=3)
    for i in range(3):
        graph.task(f"end{i}", seconds=3, deadline=27.5, after=[f"t{k}" for k in range(36)])
    cluster = Cluster([Worker("fast", speed=2), Worker("slow", threads=2)])
    instance = Instance.price(graph.done(), cluster)
    found = overload(instance)
    assert found is not None
    assert found.priced
    assert (found.begin, found.end) == (0.0, 27.5)
    assert found.work == pytest.approx(29.25)


@pytest.mark.parametrize("seed", range(40))
def test_no_window_is_overloaded_that_a_schedule_keeps(seed: int) -> None:
    """Each task is due when some schedule ends it."""
    rng = np.random.default_rng(seed)
    free = random_instance(rng, 14, 3, threads=True, release=True, eligible=True, modes=True)
    schedule = plan(free, Budget(iterations=200)).schedule
    deadline = np.full(len(free.graph), np.inf)
    task = [free.graph.index[each.task] for each in schedule.assignments]
    some = rng.random(len(task)) < 0.7
    deadline[np.array(task)[some]] = schedule.end[some]
    dated = Instance(replace(free.graph, deadline=deadline), free.cluster, free.seconds)
    check_schedule(dated, schedule)
    assert overload(dated) is None


@pytest.mark.parametrize("digits", [6, 20])
def test_dates_of_a_clock_are_compared_as_exactly_as_schedules_are(digits: int) -> None:
    """Both tasks end by their deadline, which has lost some 1e-9 s of work, or 1e-7 s: a float of a
    date after more than a year has no more digits, and nobody writes down more than these."""
    first, second, release = 0.12829603458673106, 0.45481474037389563, 37732308.563378364
    due = by(round(release + first + second, digits), release)
    instance = alone(a=(first, due), b=(second, due))
    assert overload(instance) is None
    assert isinstance(feasibility(instance, PATIENT), Feasible)
    late = by(round(release + first + second - 0.1, digits), release)
    assert isinstance(feasibility(alone(a=(first, late), b=(second, late)), PATIENT), Infeasible)


def test_the_tests_end_in_time_where_each_task_has_workers_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three of twelve workers each, as a file has three copies: 220 sets of workers, of which only
    the first is looked at, that of all of them, where the time is over at once."""
    seconds = np.full((220, 12), np.inf)
    for row, workers in zip(seconds, itertools.combinations(range(12), 3), strict=True):
        row[list(workers)] = 1.0
    instance = Instance.from_arrays(seconds, [], deadline=50.0)
    looked, densest = [], demand._densest
    monkeypatch.setattr(demand, "_densest", lambda *args: looked.append(1) or densest(*args))
    assert overload(instance, 0.0) is None
    assert len(looked) == 1
    assert overload(instance) is None
    assert len(looked) == 222


def test_memory_that_suffices_for_no_schedule() -> None:
    tasks = [Task("a", seconds=1, memory=3, output_bytes=3), Task("b", seconds=1, memory=3)]
    tasks += [Task("c", seconds=1, deadline=9)]
    graph = TaskGraph.build()
    for task in tasks:
        graph.add(task)
    graph.edge("a", "c")
    graph.edge("b", "c")
    instance = Instance.price(graph.done(), Cluster([Worker("w0", memory=5)]))
    answer = feasibility(instance, PATIENT)
    assert isinstance(answer, Feasible)


def test_without_time_nothing_is_claimed_that_is_not_shown() -> None:
    tasks = {f"t{i}": (3.0 + i % 5, by(40.0 + i)) for i in range(60)}
    answer = feasibility(alone(6, **tasks), Budget(seconds=0.0))
    assert isinstance(answer, Feasible | Unknown)


def test_no_deadline_is_left_out_after_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 40 are named, though 26 are too many: to ask for one after the other takes long."""
    asked: list[int] = []
    deciding = import_module("orchestrator_core.plan.realtime.feasibility")
    ask = deciding._ask
    monkeypatch.setattr(
        deciding,
        "_ask",
        lambda instance, tasks, *rest: asked.append(1) or ask(instance, tasks, *rest),
    )
    answer = feasibility(alone(**{f"t{i}": (1, by(25)) for i in range(40)}), Budget(seconds=0.0))
    assert isinstance(answer, Infeasible)
    assert len(answer.conflict) == 40
    assert not answer.smallest
    assert len(asked) == 1


def oracle(instance: Instance) -> bool:
    """Can one worker keep all deadlines? By trying all orders."""
    graph, seconds = instance.graph, instance.seconds[:, 0]
    for order in itertools.permutations(range(len(graph))):
        clock = 0.0
        for t in order:
            clock = max(clock, float(graph.release[t])) + float(seconds[t])
            if clock > graph.deadline[t] + 1e-9:
                break
        else:
            return True
    return False


@pytest.mark.parametrize("seed", range(30))
def test_verdicts_are_those_of_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = {}
    for i in range(int(rng.integers(3, 6))):
        seconds, release = float(rng.integers(1, 5)), float(rng.integers(0, 6))
        tasks[f"t{i}"] = (seconds, by(release + seconds + float(rng.integers(0, 7)), release))
    instance = alone(1, **tasks)
    answer = feasibility(instance, PATIENT)
    assert isinstance(answer, Feasible) == oracle(instance)
    if oracle(instance):
        assert overload(instance) is None
        return
    assert isinstance(answer, Infeasible)
    assert answer.smallest
    conflict = [instance.graph.index[name] for name in answer.conflict]
    for left_out in (None, *conflict):
        some = with_deadlines(instance, [task for task in conflict if task != left_out])
        assert oracle(some) == (left_out is not None)
