"""A search that begins on one worker finds the others that are as fast and better connected."""

from __future__ import annotations

import numpy as np

from orchestrator_core import Budget, Instance, check_schedule, plan
from orchestrator_core.plan.objective import MAKESPAN
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.plan.search.lane_engine import LaneEngine
from orchestrator_core.plan.search.lane_exchange import exchanges
from orchestrator_core.plan.search.local_search import LocalSearch
from tests.plan.asking import ask

APART = [[0.0, 3.0, 3.0], [3.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
"""Seconds per byte: w0 is far from the others, which are beside each other."""

EDGES = [
    (0, 2, 6.0), (0, 3, 5.0), (0, 6, 3.0), (1, 2, 5.0), (1, 4, 2.0), (1, 5, 11.0), (1, 6, 0.0),
    (2, 5, 5.0), (3, 5, 10.0), (3, 6, 0.0), (4, 5, 4.0), (4, 6, 4.0), (5, 6, 4.0),
]  # fmt: skip


def far_and_near() -> Instance:
    """w0 and w1 are as fast, w2 half as fast. All on one worker take 36 s, which is the best that
    w0 has a part in; on w1 and w2 the optimum is 29 s, as CP-SAT proves."""
    seconds = np.outer([3.0, 6.0, 3.0, 9.0, 1.0, 4.0, 10.0], [1.0, 1.0, 2.0])
    return Instance.from_arrays(seconds, EDGES, seconds_per_byte=APART)


def test_a_search_leaves_a_worker_whose_equal_is_better_connected() -> None:
    instance = far_and_near()
    serial = plan(instance, Budget(iterations=0), ["serial"]).schedule
    assert serial.makespan == 36.0
    found = ask(
        LocalSearch(), Brief(instance, Budget(iterations=40_000), incumbent=serial)
    ).schedule
    assert found is not None
    check_schedule(instance, found)
    assert found.makespan == 29.0


def test_workers_exchange_their_tasks_where_that_is_as_good() -> None:
    instance = far_and_near()
    engine = LaneEngine(instance, MAKESPAN, 0)
    serial = plan(instance, Budget(iterations=0), ["serial"]).schedule
    engine.begin(engine.solution_of(serial))
    found = exchanges(engine)
    assert [set(solution.place.tolist()) for solution in found] == [{1}]
    assert engine.begin(found[0]) == 36.0


def test_workers_that_are_alike_exchange_nothing() -> None:
    instance = Instance.from_arrays(
        np.full((4, 3), 2.0), [(0, 1, 1.0)], seconds_per_byte=1.0 - np.eye(3)
    )
    engine = LaneEngine(instance, MAKESPAN, 0)
    engine.begin(engine.solution_of(plan(instance, Budget(iterations=0), ["heft"]).schedule))
    assert exchanges(engine) == []


def test_only_tasks_that_may_run_there_are_exchanged() -> None:
    seconds = [[1.0, 1.0], [1.0, 1.0], [2.0, np.inf], [np.inf, 2.0]]
    instance = Instance.from_arrays(seconds, [], latency=[[0.0, 1.0], [2.0, 0.0]])
    rows = [("t0", "w0", 0.0, 1.0), ("t1", "w1", 0.0, 1.0)]
    rows += [("t2", "w0", 1.0, 3.0), ("t3", "w1", 1.0, 3.0)]
    engine = LaneEngine(instance, MAKESPAN, 0)
    engine.begin(engine.solution_of(Schedule([Assignment(*each) for each in rows])))
    (found,) = exchanges(engine)
    assert found.place.tolist() == [1, 0, 0, 1]
    assert engine.begin(found) == 3.0
