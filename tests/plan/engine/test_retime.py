"""retime: the same placement and order under other durations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidSchedule, UnsupportedInstance
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.papers import TOPCUOGLU_EDGES, TOPCUOGLU_SECONDS, topcuoglu
from tests.strategies import instances, serial_schedule


def heft_of(instance: Instance) -> Schedule:
    found = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    assert found is not None
    return found


def placement(schedule: Schedule) -> set[tuple[str, int, str, int]]:
    return {(a.task, a.instance, a.worker, a.mode) for a in schedule.assignments}


def orders(schedule: Schedule) -> dict[str, list[str]]:
    rows = sorted(schedule.assignments, key=lambda a: a.start)
    return {name: [a.task for a in rows if a.worker == name] for name in schedule.worker_names}


def test_the_same_durations_give_the_same_schedule() -> None:
    schedule = heft_of(topcuoglu())
    assert retime(topcuoglu(), schedule) == schedule


def test_twice_the_durations_keep_placement_and_order() -> None:
    schedule = heft_of(topcuoglu())
    slower = Instance.from_arrays(
        2.0 * np.array(TOPCUOGLU_SECONDS), TOPCUOGLU_EDGES, seconds_per_byte=2.0
    )
    later = retime(slower, schedule)
    check_schedule(slower, later)
    assert later.makespan == 2 * schedule.makespan
    assert placement(later) == placement(schedule)


def test_one_longer_task_delays_only_what_waits_for_it() -> None:
    """::

    w0: a b      a grows from 1 s to 4 s: b moves by 3 s, c stays
    w1: c
    """
    rows = [
        Assignment("t0", "w0", 0, 1),
        Assignment("t1", "w0", 1, 2),
        Assignment("t2", "w1", 0, 1),
    ]
    instance = Instance.from_arrays([[4.0, 4.0], [1.0, 1.0], [1.0, 1.0]], [])
    later = retime(instance, Schedule(rows))
    assert later.start.tolist() == [0.0, 4.0, 0.0]


def test_a_gap_closes_but_nobody_overtakes() -> None:
    """t1 stood behind t0 on w0, and stays there, although it could now start first."""
    rows = [Assignment("t0", "w0", 5, 6), Assignment("t1", "w0", 8, 9)]
    instance = Instance.from_arrays(np.ones((2, 1)), [], release=[3.0, 0.0])
    assert retime(instance, Schedule(rows)).start.tolist() == [3.0, 4.0]


def test_other_names_order_does_not_matter() -> None:
    """A schedule numbers names as it likes."""
    rows = [Assignment("t1", "w1", 0, 1), Assignment("t0", "w0", 0, 1)]
    instance = Instance.from_arrays(np.ones((2, 2)), [])
    assert placement(retime(instance, Schedule(rows))) == placement(Schedule(rows))


def test_a_worker_that_is_gone_is_named() -> None:
    rows = [Assignment("t0", "gone", 0, 1)]
    with pytest.raises(UnsupportedInstance, match="'t0' may not run on worker 'gone'"):
        retime(Instance.from_arrays([[1.0]], []), Schedule(rows))


def test_a_task_that_is_not_eligible_any_more_is_named() -> None:
    rows = [Assignment("t0", "w1", 0, 1)]
    instance = Instance.from_arrays([[1.0, np.inf]], [])
    with pytest.raises(UnsupportedInstance, match="'t0' may not run on worker 'w1'"):
        retime(instance, Schedule(rows))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "runs task 't0' 0 times"),
        ([Assignment("t0", "w0", 0, 1), Assignment("t0", "w0", 1, 2)], "runs task 't0' 2 times"),
        ([Assignment("other", "w0", 0, 1)], "no task 'other'"),
        ([Assignment("t0", "w0", 0, 1, instance=1)], "'t0' has no instance 1"),
    ],
)
def test_another_graphs_schedule_is_refused(rows: list[Assignment], message: str) -> None:
    with pytest.raises(UnsupportedInstance, match=message):
        retime(Instance.from_arrays([[1.0]], []), Schedule(rows))


def test_a_deadline_that_cannot_be_kept_is_named() -> None:
    rows = [Assignment("t0", "w0", 0, 1), Assignment("t1", "w0", 1, 2)]
    instance = Instance.from_arrays([[3.0], [1.0]], [], deadline=[np.inf, 2.0])
    with pytest.raises(UnsupportedInstance, match="'t1' would end at 4 s"):
        retime(instance, Schedule(rows))


@settings(max_examples=60)
@given(instances(any_constraints=True))
def test_a_valid_schedule_never_gets_longer_under_its_own_durations(instance: Instance) -> None:
    schedules = [serial_schedule(instance)]
    schedules += [
        found
        for planner in LIST_PLANNERS
        if planner.unsupported(instance) is None
        and (found := next(planner.plan(Brief(instance))).schedule) is not None
    ]
    for schedule in schedules:
        try:
            check_schedule(instance, schedule)
        except InvalidSchedule:
            continue
        again = retime(instance, schedule)
        check_schedule(instance, again)
        assert again.makespan <= schedule.makespan * (1 + 1e-9)
        assert placement(again) == placement(schedule)
