"""Repairs whose best answer is plain by hand."""

from __future__ import annotations

import gc
import math
import weakref
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.repair import (
    Failed,
    Finished,
    Held,
    Pausable,
    Repairer,
    Running,
    Waiting,
    WorkerLost,
    replan,
)
from orchestrator_core.plan.repair import result as told_by
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.plan.repair.by_hand import repaired, row, their_plan, two_workers


def test_without_events_the_plan_stays() -> None:
    for now in (0.0, 1.0, 2.5, 4.0, 6.0, 9.0):
        result = repaired(two_workers(), their_plan(), now)
        assert list(result.schedule.assignments) == list(their_plan().assignments)
        assert result.moved == ()
        assert result.again == ()


def test_a_late_task_pushes_what_waits_for_it() -> None:
    result = repaired(two_workers(), their_plan(), 3.0, [Running("b", expected_end=6.0)])
    assert row(result, "b") == Assignment("b", "w1", 0, 6)
    assert row(result, "c") == Assignment("c", "w1", 6, 9)
    assert row(result, "d") == Assignment("d", "w0", 2, 4)
    assert result.kept == ("c",)


def test_an_early_task_pulls_what_waits_for_it() -> None:
    result = repaired(two_workers(), their_plan(), 3.0, [Finished("b", end=3.0)])
    assert row(result, "c") == Assignment("c", "w1", 3, 6)


def test_what_cannot_have_begun_has_not() -> None:
    # Nobody says anything of d, but w0 has one thread and is busy with a until 3 s.
    result = repaired(two_workers(), their_plan(), 2.5, [Running("a", expected_end=3.0)])
    assert row(result, "d") == Assignment("d", "w0", 3, 5)


def test_what_needs_many_threads_cannot_have_begun_without_them() -> None:
    # b has all 16 threads of w0 until 7 s, so that a, which needs 10 of them, did not begin at 5 s.
    graph = TaskGraph.from_tasks([Task("a", threads=10), Task("b", threads=16)])
    instance = Instance(graph, Cluster([Worker("w0", threads=16)]), np.full((2, 1), 5.0))
    plan = Schedule([Assignment("b", "w0", 0, 5), Assignment("a", "w0", 5, 10)])
    result = repaired(instance, plan, 6.0, [Running("b", expected_end=7.0)])
    assert row(result, "a") == Assignment("a", "w0", 7, 12)


def test_a_task_that_has_not_begun_yet() -> None:
    result = repaired(two_workers(), their_plan(), 2.5, [Waiting("d")])
    assert row(result, "d") == Assignment("d", "w0", 2.5, 4.5)


def test_a_lost_output_is_made_again_only_if_somebody_needs_it() -> None:
    # At 2.5 s a's output is still on its way: it dies with w0. Nobody needs d's.
    plan = their_plan()
    result = repaired(two_workers(), plan, 2.5, [WorkerLost("w0")])
    assert result.again == ("a", "d")
    assert row(result, "a") == Assignment("a", "w1", 4, 6)
    assert row(result, "c").start == 6.0
    # At 3.5 s it has arrived at w1.
    result = repaired(two_workers(), plan, 3.5, [WorkerLost("w0")])
    assert result.again == ("d",)
    assert row(result, "c") == Assignment("c", "w1", 4, 7)
    # At 5 s all is where it is needed.
    result = repaired(two_workers(), plan, 5.0, [WorkerLost("w0")])
    assert result.again == ()
    assert result.makespan == 7.0


def test_wanted_outputs_are_made_again() -> None:
    result = repaired(two_workers(), their_plan(), 5.0, [WorkerLost("w0")], wanted=["d"])
    assert result.again == ("d",)
    assert row(result, "d") == Assignment("d", "w1", 7, 9)


def chain() -> tuple[Instance, Schedule]:
    """q on w0 feeds p on w1, which feeds t on w2; nothing takes time to move."""
    instance = Instance.from_arrays(
        np.full((3, 3), 2.0), [(0, 1, 0.0), (1, 2, 0.0)], task_names=["q", "p", "t"]
    )
    rows = [Assignment(t, f"w{i}", 2.0 * i, 2.0 * i + 2) for i, t in enumerate("qpt")]
    moves = [
        Transfer("q", "w0", "w1", 2, 2, 2, 0.0),
        Transfer("p", "w1", "w2", 4, 4, 4, 0.0),
    ]
    return instance, Schedule(rows, moves)


def test_ancestors_are_made_again_as_far_as_they_are_lost() -> None:
    instance, plan = chain()
    # p is running at 3 s and q's only other copy is gone with it, but w0 still has q's output.
    assert repaired(instance, plan, 3.0, [WorkerLost("w1")]).again == ("p",)
    assert repaired(instance, plan, 3.0, [WorkerLost("w0")]).again == ()
    both = [WorkerLost("w0"), WorkerLost("w1")]
    result = repaired(instance, plan, 3.0, both)
    assert result.again == ("q", "p")
    assert result.makespan == 9.0


def test_workers_may_forget_what_nobody_waits_for() -> None:
    instance, plan = chain()
    late = [Failed("t"), WorkerLost("w1"), WorkerLost("w2")]
    assert repaired(instance, plan, 5.0, late).again == ("p", "t")
    assert repaired(instance, plan, 5.0, late, forgets=True).again == ("q", "p", "t")


def test_a_failed_task_runs_again() -> None:
    result = repaired(two_workers(), their_plan(), 3.0, [Failed("b")])
    assert row(result, "b").start == 3.0
    assert row(result, "c").start == 7.0
    assert result.again == ("b",)


def test_a_copy_that_an_event_tells_of_is_used() -> None:
    events = [WorkerLost("w0"), Held("a", "w1", since=2.25)]
    result = repaired(two_workers(), their_plan(), 2.5, events)
    assert result.again == ("d",)
    assert row(result, "c") == Assignment("c", "w1", 4, 7)


def alone(seconds: list[float], workers: int) -> Instance:
    return Instance.from_arrays(
        [[s] * workers for s in seconds], [], task_names=[f"t{i}" for i in range(len(seconds))]
    )


def in_a_row(seconds: list[float]) -> Schedule:
    ends = np.cumsum(seconds)
    rows = zip(ends - seconds, ends, strict=True)
    return Schedule([Assignment(f"t{i}", "w0", a, b) for i, (a, b) in enumerate(rows)])


def test_a_joined_worker_is_used_where_it_gains() -> None:
    seconds = [4.0] * 4
    result = repaired(alone(seconds, 2), in_a_row(seconds), 1.0)
    assert result.makespan == 9.0
    assert {move.destination for move in result.moved} == {"w1"}
    assert "saves" in result.moved[0].reason


def test_many_moves_are_told_as_quickly_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    # Which tasks are moved takes a look at all of them: once, not once for each of the moves.
    looks = []

    def counted(mask: Any) -> Any:
        looks.append(1)
        return np.flatnonzero(mask)

    result = repaired(alone([4.0] * 40, 2), in_a_row([4.0] * 40), 1.0)
    monkeypatch.setattr(told_by, "np", SimpleNamespace(**{**vars(np), "flatnonzero": counted}))
    assert len(result.moved) > 10
    assert len(looks) == 1


def test_a_joined_worker_is_not_used_for_little() -> None:
    seconds = [400.0, 1.0]
    result = repaired(alone(seconds, 2), in_a_row(seconds), 1.0, budget=Budget(iterations=20))
    assert result.moved == ()
    assert result.kept == ("t1",)


def test_lost_workers_are_named_as_the_reason() -> None:
    result = repaired(two_workers(), their_plan(), 3.5, [WorkerLost("w1")])
    assert result.again == ("b",)
    assert [(m.task, m.source, m.reason) for m in result.moved] == [
        ("b", "w1", "worker w1 was lost"),
        ("c", "w1", "worker w1 was lost"),
    ]
    assert math.isfinite(result.kept_makespan)


def test_workers_that_the_instance_has_no_longer_are_lost() -> None:
    old = two_workers()
    graph = old.graph
    one = Instance(graph, Cluster([old.cluster.workers[1]]), old.seconds[:, 1:])
    result = repaired(one, their_plan(), 2.5)
    assert result.again == ("a", "d")
    assert row(result, "d").worker == "w1"
    assert repaired(one, result.schedule, 5.0).schedule == result.schedule


def test_new_tasks_find_their_place() -> None:
    graph = two_workers().graph
    more = TaskGraph.from_tasks(
        [*graph.tasks(), Task("e"), Task("f")], [*graph.edges(), Edge("c", "e"), Edge("f", "c")]
    )
    instance = Instance(more, two_workers().cluster, np.full((6, 2), 2.0))
    result = repaired(instance, their_plan(), 1.0, budget=Budget(iterations=300))
    assert row(result, "f").start <= 2.0
    assert row(result, "c").start == 4.0
    assert row(result, "e").start >= row(result, "c").end


def test_threads_without_end_take_no_room() -> None:
    # A lane for each thread, noted time and again, was more than any machine has.
    graph = TaskGraph.from_tasks([Task("a", count=1_000_000)])
    instance = Instance(graph, Cluster([Worker("w0", threads=2**50)]), np.ones((1, 1)))
    assert replan(instance, Schedule([]), 3.0).makespan == 4.0


def test_new_tasks_are_told_of() -> None:
    assert "from 0 s on: 4 new;" in repr(repaired(two_workers(), Schedule([]), 0.0))
    assert "from 8 s on: nothing is left;" in repr(repaired(two_workers(), their_plan(), 8.0))


def test_other_durations_count_from_now_on() -> None:
    slower = two_workers()
    seconds = slower.seconds.copy()
    seconds[2] = 5.0
    result = repaired(replace(slower, seconds=seconds), their_plan(), 1.0)
    assert row(result, "a").end == 2.0
    assert row(result, "c") == Assignment("c", "w1", 4, 9)


def test_a_task_pauses_at_its_checkpoint_for_an_urgent_one() -> None:
    tasks = [
        Task("long", checkpoints=(0.25, 0.5)),
        Task("urgent", deadline=8.0),
    ]
    instance = Instance(
        TaskGraph.from_tasks(tasks), Cluster([Worker("w0")]), np.array([[10.0], [2.0]])
    )
    plan = Schedule([Assignment("long", "w0", 0, 10)])
    assert repaired(instance, plan, 3.0).missed == ("urgent",)
    result = repaired(instance, plan, 3.0, [Pausable("long")])
    assert result.missed == ()
    assert row(result, "urgent") == Assignment("urgent", "w0", 5, 7)
    assert row(result, "long") == Assignment(
        "long", "w0", 0, 12, segments=((0.0, 5.0), (7.0, 12.0))
    )
    # The pause is part of the plan that the next repair starts from, before, in and after it.
    for now in (4.0, 6.0, 8.0, 13.0):
        again = repaired(instance, result.schedule, now)
        assert again.schedule == result.schedule
    # If its worker dies in the meantime, it begins anew.
    two = Instance(instance.graph, Cluster([Worker("w0"), Worker("w1")]), np.full((2, 2), 5.0))
    lost = repaired(two, result.schedule, 6.0, [WorkerLost("w0")])
    assert lost.again == ("long", "urgent")


def test_a_pause_waits_for_nothing_less_than_a_gain() -> None:
    tasks = [Task("long", checkpoints=(0.5,)), Task("short")]
    instance = Instance(
        TaskGraph.from_tasks(tasks), Cluster([Worker("w0")]), np.array([[10.0], [2.0]])
    )
    plan = Schedule([Assignment("long", "w0", 0, 10), Assignment("short", "w0", 10, 12)])
    result = repaired(instance, plan, 3.0, [Pausable("long")])
    assert result.schedule.segments == {}


def test_a_task_does_not_pause_whose_input_is_gone() -> None:
    # At its checkpoint at 6 s, long would have to wait for a, which nobody may run any more.
    tasks = [Task("a", eligible=("w1",)), Task("long", checkpoints=(0.5,))]
    tasks += [Task("urgent", deadline=8.0)]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "long")])
    seconds = np.array([[1.0] * 2, [10.0] * 2, [1.0] * 2])
    instance = Instance(graph, Cluster([Worker("w0"), Worker("w1")]), seconds)
    plan = Schedule(
        [
            Assignment("a", "w1", 0, 1),
            Assignment("long", "w0", 1, 11),
            Assignment("urgent", "w1", 3, 4),
        ],
        [Transfer("a", "w1", "w0", 1, 1, 1, 0)],
    )
    events = [WorkerLost("w1"), Failed("a"), Running("long", 11), Pausable("long")]
    result = repaired(instance, plan, 3.0, events)
    assert row(result, "long") == Assignment("long", "w0", 1, 11)
    assert row(result, "urgent") == Assignment("urgent", "w0", 11, 12)
    assert result.blocked == ("a",)


def test_memory_holds_for_what_comes_and_what_was() -> None:
    # w0 has 4 bytes: a's output (3) waits there for c, so that b (2 bytes) cannot run beside it.
    tasks = [Task("a", output_bytes=3), Task("b", memory=2), Task("c", memory=1)]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "c")])
    cluster = Cluster([Worker("w0", memory=4, threads=2)], link=Link(latency=1))
    instance = Instance(graph, cluster, np.array([[2.0], [2.0], [2.0]]))
    plan = Schedule(
        [
            Assignment("a", "w0", 0, 2),
            Assignment("c", "w0", 2, 4),
            Assignment("b", "w0", 4, 6),
        ]
    )
    result = repaired(instance, plan, 1.0, [Running("a", expected_end=3.0)])
    assert row(result, "c").start == 3.0
    assert row(result, "b").start == 5.0 or row(result, "b").end <= 3.0


def test_a_task_that_can_run_nowhere_is_named_and_the_others_go_on() -> None:
    graph = TaskGraph.from_tasks([Task("a"), Task("b", eligible=("w0",))])
    instance = Instance(graph, Cluster([Worker("w0"), Worker("w1")]), np.full((2, 2), 1.0))
    plan = Schedule([Assignment("a", "w0", 0, 1), Assignment("b", "w0", 1, 2)])
    result = repaired(instance, plan, 0.5, [WorkerLost("w0")])
    assert result.blocked == ("b",)
    assert row(result, "a") == Assignment("a", "w1", 0.5, 1.5)
    # When w0 is back, the next repair finds b in no schedule, as if it were new.
    back = repaired(instance, result.schedule, 2.0)
    assert back.blocked == ()
    assert row(back, "b") == Assignment("b", "w0", 2, 3)


def test_what_needs_a_task_that_can_run_nowhere_is_left_out_too() -> None:
    tasks = [Task("a", eligible=("w0",)), Task("b"), Task("c"), Task("d")]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "b"), Edge("b", "c")])
    instance = Instance(graph, Cluster([Worker("w0"), Worker("w1")]), np.full((4, 2), 1.0))
    plan = Schedule([Assignment(t, "w0", i, i + 1) for i, t in enumerate("abcd")])
    result = repaired(instance, plan, 0.5, [WorkerLost("w0")], budget=Budget(iterations=10))
    assert result.blocked == ("a", "b", "c")
    assert [run.task for run in result.schedule.assignments] == ["d"]


def test_what_has_begun_is_not_left_out_with_what_cannot_run_again() -> None:
    # Only w0 may run a, which b and c have read: c's run is worthless, and a's output is gone with
    # w0 once all have read it. But b goes on, and d needs nothing but b.
    tasks = [Task("a", eligible=("w0",)), Task("b"), Task("c"), Task("d")]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "b"), Edge("a", "c"), Edge("b", "d")])
    instance = Instance(graph, Cluster([Worker("w0"), Worker("w1")]), np.full((4, 2), 2.0))
    runs = (("a", "w0", 0), ("b", "w1", 2), ("c", "w0", 2), ("d", "w1", 4))
    plan = Schedule(
        [Assignment(t, w, start, start + 2) for t, w, start in runs],
        [Transfer("a", "w0", "w1", 2, 2, 2, 0)],
    )
    a_lost = [WorkerLost("w0"), Failed("a"), Failed("c")]
    for now, event in ((3.0, Running("b", 4.0)), (4.0, Finished("b", 4.0))):
        result = repaired(instance, plan, now, [*a_lost, event])
        assert result.blocked == ("a", "c")
        assert row(result, "b") == Assignment("b", "w1", 2, 4)
        assert row(result, "d") == Assignment("d", "w1", 4, 6)


def test_what_no_worker_has_memory_for_is_left_out() -> None:
    # a's output (3 bytes) fills w1, where nothing else can run until c has used it; c needs d's
    # too, which does not fit beside it.
    tasks = [Task("a", output_bytes=3), Task("c", memory=1), Task("d", memory=1), Task("e")]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "c"), Edge("d", "c")])
    cluster = Cluster([Worker("w0"), Worker("w1", memory=3)])
    instance = Instance(graph, cluster, np.full((4, 2), 1.0))
    runs = (("a", 0), ("d", 1), ("c", 2), ("e", 3))
    plan = Schedule([Assignment(t, "w0", i, i + 1) for t, i in runs])
    result = repaired(instance, plan, 0.5, [WorkerLost("w0")])
    assert "c" in result.blocked
    assert "e" not in result.blocked


def test_what_is_not_blocked_stays_where_it_was_planned() -> None:
    # a's and b's outputs (2 bytes each) stay on w1 until x has run, which does not fit beside them.
    tasks = [Task("a", output_bytes=2), Task("b", output_bytes=2), Task("x", memory=2)]
    tasks += [Task(name) for name in "cyef"]
    edges = [Edge("a", "c"), Edge("b", "y"), Edge("x", "c"), Edge("x", "y")]
    cluster = Cluster([Worker("w0"), Worker("w1", memory=5), Worker("w2", memory=1)])
    instance = Instance(TaskGraph.from_tasks(tasks, edges), cluster, np.ones((7, 3)))
    runs = (("a", 1, 0), ("b", 1, 1), ("x", 0, 2), ("e", 2, 2), ("f", 1, 2), ("c", 1, 5))
    plan = Schedule(
        [*(Assignment(t, f"w{w}", i, i + 1) for t, w, i in runs), Assignment("y", "w1", 6, 7)],
        [Transfer("x", "w0", "w1", 3, 3, 3, 0)],
    )
    result = repaired(instance, plan, 2.0, [WorkerLost("w0")])
    assert result.blocked == ("x", "c", "y")
    assert result.moved == ()


def test_another_order_is_found_where_the_planned_one_does_not_fit_any_more() -> None:
    # On w1 b's output (2 bytes) cannot wait while c (6 of 7 bytes) runs: c has to go first.
    tasks = [Task("b", memory=4, output_bytes=2), Task("c", memory=6), Task("d", memory=5)]
    graph = TaskGraph.from_tasks(tasks, [Edge("b", "d"), Edge("c", "d")])
    cluster = Cluster([Worker("w0"), Worker("w1", memory=7)])
    instance = Instance(graph, cluster, np.full((3, 2), 1.0))
    plan = Schedule([Assignment(t, "w0", i, i + 1) for i, t in enumerate("bcd")])
    result = repaired(instance, plan, 0.5, [WorkerLost("w0")])
    assert result.blocked == ()
    starts = [row(result, task).start for task in "cbd"]
    assert starts == sorted(starts)
    # In the order that was planned, it is not possible to stay.
    assert result.kept_makespan == math.inf


def test_memory_that_is_overcrowded_already_stops_nothing() -> None:
    # By plan c uses a's output up before b's is made; in fact both are held now: 6 of 4 bytes.
    tasks = [Task("a", output_bytes=3), Task("b", output_bytes=3), Task("c"), Task("d")]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "c"), Edge("b", "d")])
    instance = Instance(graph, Cluster([Worker("w0", memory=4)]), np.full((4, 1), 1.0))
    plan = Schedule([Assignment(t, "w0", i, i + 1) for i, t in enumerate("acbd")])
    events = [Finished("a", end=1.0), Waiting("c"), Finished("b", end=2.0)]
    result = repaired(instance, plan, 2.0, events)
    assert (row(result, "c").start, row(result, "d").start) == (2.0, 3.0)


def test_threads_that_are_overcrowded_already_are_not_filled_again() -> None:
    """`c` waits for both that run on the one thread, whichever of them ends first."""
    plan = Schedule(
        [Assignment("a", "w1", 0, 4), Assignment("b", "w0", 0, 9), Assignment("c", "w0", 9, 11)]
    )
    for more in ({}, {"memory": 10.0, "task_memory": 1.0}):
        instance = Instance.from_arrays(
            [[4.0, 4.0], [9.0, 9.0], [2.0, np.inf]], [], task_names=["a", "b", "c"], **more
        )
        for end in (4.0, 12.0):
            both = [Running("a", end, worker="w0"), Running("b", 9.0)]
            result = repaired(instance, plan, 2.0, both)
            assert row(result, "c").start == max(end, 9.0)


def test_where_the_stock_suffices_for_all_modes_the_faster_one_is_taken() -> None:
    """b is to begin at 1 s in its first mode; by then it is known that the second one is faster."""
    modes = (Mode("one", consumes={"credit": 1}), Mode("other", consumes={"credit": 2}))
    graph = TaskGraph.from_tasks([Task("a", seconds=1), Task("b", modes=modes)])
    plan = Schedule([Assignment("a", "w0", 0, 1), Assignment("b", "w0", 1, 4)])
    for credit, ends in ((2.0, 2.0), (1.0, 4.0)):
        cluster = Cluster([Worker("w0")], stock={"credit": credit})
        instance = Instance(graph, cluster, np.array([[1.0], [3.0], [1.0]]))
        assert repaired(instance, plan, 0.5).makespan == ends


def test_what_the_stock_does_not_suffice_for_is_left_out() -> None:
    modes = (Mode("fast", consumes={"credit": 2}), Mode("slow", consumes={"credit": 1}))
    tasks = [Task("a", consumes={"credit": 1}), Task("b", modes=modes), Task("c", modes=modes[:1])]
    graph, seconds = TaskGraph.from_tasks(tasks), np.array([[1.0], [1.0], [3.0], [1.0]])
    plan = Schedule([Assignment(t, "w0", i, i + 1) for i, t in enumerate("bac")])
    # At 1 s, b has taken 2 of 4 or 5; a and c need 3. At 0 s, it can still be thrifty.
    for credit, now, mode, blocked in ((5, 1, 0, ()), (4, 1, 0, ("c",)), (4, 0, 1, ())):
        instance = Instance(graph, Cluster([Worker("w0")], stock={"credit": credit}), seconds)
        result = repaired(instance, plan, now)
        assert result.blocked == blocked
        assert row(result, "b").mode == mode


def test_a_repairer_remembers() -> None:
    repairer = Repairer(two_workers(), their_plan())
    repairer.replan(1.0, [Running("b", expected_end=6.0)])
    result = repairer.replan(2.5, [WorkerLost("w0")])
    assert row(result, "b").end == 6.0
    result = repairer.replan(5.0)
    assert {a.worker for a in result.schedule.assignments if a.end > 5} == {"w1"}
    assert row(result, "a") == Assignment("a", "w1", 6, 8)


def test_a_repair_keeps_no_instance_alive() -> None:
    """What is worked out of an instance is kept for the next repair of it, and goes with it."""
    instance = two_workers()
    first = replan(instance, their_plan(), 1.0)
    assert replan(instance, first.schedule, 2.0)._basis is first._basis
    gone = weakref.ref(instance)
    del instance, first
    gc.collect()
    assert gone() is None
