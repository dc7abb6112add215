"""A plan is mended when reality differs, and left alone when it does not."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Course, Execution, Sight
from orchestrator_core.execute.live.begun import begun
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.plan.schedule import Assignment, Schedule

A, B, C = (Worker(name, kind="box") for name in "abc")


def eight_seconds() -> tuple[Instance, Schedule]:
    """Eight independent tasks of a second, four on each of two workers."""
    instance = Instance.from_arrays(np.ones((8, 2)), [], worker_names=["a", "b"])
    rows = [Assignment(f"t{i}", "ab"[i % 2], float(i // 2), i // 2 + 1.0) for i in range(8)]
    return instance, Schedule(rows)


def where(schedule: Schedule) -> dict[str, str]:
    return {row.task: row.worker for row in schedule.assignments}


def cluster(*workers: Worker) -> Cluster:
    return Cluster.from_matrices(workers)


def test_a_run_that_goes_as_planned_is_left_alone() -> None:
    course = Course(*eight_seconds())
    sight = Sight(
        now=1.5,
        cluster=cluster(A, B),
        finished={"t0": Execution("a", 0.0, 1.0), "t1": Execution("b", 0.0, 1.0)},
        sent={f"t{i}": ("ab"[i % 2], 0.0) for i in range(2, 8)},
    )
    correction = course.correct(sight)
    assert not correction.pays
    assert correction.end == pytest.approx(4.0)
    assert where(correction.schedule) == where(course.schedule)


def test_a_worker_that_turns_out_slow_loses_tasks() -> None:
    course = Course(*eight_seconds())
    slow = {"t1": Execution("b", 0.0, 4.0)}
    fast = {f"t{i}": Execution("a", i / 2, i / 2 + 1) for i in (0, 2, 4, 6)}
    sent = {"t3": ("b", 0.0), "t5": ("b", 0.0), "t7": ("b", 0.0)}
    correction = course.correct(
        Sight(now=4.0, cluster=cluster(A, B), finished=slow | fast, sent=sent)
    )
    assert correction.pays
    places = where(correction.schedule)
    assert places["t3"] == "b", "it has begun there"
    assert {places["t5"], places["t7"]} == {"a"}
    assert correction.moves == 2
    assert "2 tasks go elsewhere" in correction.reason


def test_a_lost_worker_loses_everything_that_it_had_and_somebody_needs() -> None:
    instance = Instance.from_arrays(np.ones((3, 2)), [(0, 2, 1.0), (1, 2, 1.0)], worker_names="ab")
    rows = [Assignment("t0", "a", 0, 1), Assignment("t1", "b", 0, 1), Assignment("t2", "a", 1, 2)]
    course = Course(instance, retime(instance, Schedule(rows)))
    done = {"t0": Execution("a", 0.0, 1.0)}
    correction = course.correct(Sight(now=1.5, cluster=cluster(A), finished=done))
    assert correction.pays
    assert where(correction.schedule) == {"t0": "a", "t1": "a", "t2": "a"}
    assert correction.end == pytest.approx(3.5), "t1 runs again, then t2"


def test_a_copy_elsewhere_saves_what_a_lost_worker_made() -> None:
    instance = Instance.from_arrays(np.ones((2, 2)), [(0, 1, 1.0)], worker_names="ab")
    course = Course(instance, Schedule([Assignment("t0", "b", 0, 1), Assignment("t1", "b", 1, 2)]))
    sight = Sight(
        now=1.5,
        cluster=cluster(A),
        finished={"t0": Execution("b", 0.0, 1.0)},
        copies={"t0": ("a",)},
    )
    assert course.correct(sight).end == pytest.approx(2.5)


def test_a_worker_that_joins_gets_work() -> None:
    course = Course(*eight_seconds())
    sight = Sight(now=0.0, cluster=cluster(A, B, C))
    correction = course.correct(sight)
    assert correction.pays
    assert correction.end == pytest.approx(3.0)
    assert set(where(correction.schedule).values()) == {"a", "b", "c"}


def test_a_paused_worker_is_avoided_but_not_forgotten() -> None:
    course = Course(*eight_seconds())
    correction = course.correct(Sight(now=0.0, cluster=cluster(A), paused=frozenset("b")))
    assert correction.pays
    assert set(where(correction.schedule).values()) == {"a"}


def test_what_nobody_wants_any_more_takes_no_time() -> None:
    course = Course(*eight_seconds())
    gone = frozenset({"t4", "t5", "t6", "t7"})
    assert course.correct(Sight(now=0.0, cluster=cluster(A, B), gone=gone)).end == pytest.approx(2)


def test_a_worker_begins_what_it_was_sent_in_the_order_of_the_plan() -> None:
    sight = Sight(
        now=5.0,
        cluster=cluster(A, B),
        finished={"x": Execution("a", 0.0, 4.0)},
        sent={"late": ("a", 3.0), "soon": ("a", 2.0), "new": ("a", 4.5), "other": ("b", 3.0)},
    )
    rank = {"soon": 0, "late": 1, "new": -1, "other": 0}
    assert begun(sight, rank) == {"soon": ("a", 4.0), "other": ("b", 3.0)}


def test_what_a_worker_says_counts() -> None:
    sight = Sight(
        now=5.0,
        cluster=cluster(A),
        sent={"first": ("a", 0.0), "second": ("a", 0.0)},
        executing={"second": 1.0},
    )
    assert begun(sight, {"first": 0, "second": 1}) == {"second": ("a", 1.0)}


def test_a_thread_that_others_hold_begins_nothing() -> None:
    sight = Sight(now=5.0, cluster=cluster(A), sent={"first": ("a", 0.0)}, others={"a": 1})
    assert begun(sight, {"first": 0}) == {}


def test_threads_that_others_have_for_a_while_are_gone_round() -> None:
    course = Course(*eight_seconds())
    free = course.correct(Sight(now=0.0, cluster=cluster(A, B)))
    others = course.correct(Sight(now=0.0, cluster=cluster(A, B), occupied={"a": (6.0,)}))
    gone = course.correct(Sight(now=0.0, cluster=cluster(A, B), occupied={"of old": (6.0,)}))
    assert (free.end, others.end, gone.end) == (4.0, 7.0, 4.0)
