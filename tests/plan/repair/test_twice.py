"""A repair of a repair: what the first found to have begun, the second believes without events."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.repair import (
    Event,
    Failed,
    Finished,
    Held,
    Occupied,
    Repairer,
    Replan,
    Running,
    WorkerLost,
    check_replan,
)
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.plan.repair.by_hand import repaired, row, their_plan, two_workers
from tests.plan.repair.test_random import cases, some_events


def test_an_output_that_is_forgotten_was_sent_all_the_same() -> None:
    # At 8 s both c and d have ended, so that workers have forgotten a's output.
    first = repaired(two_workers(), their_plan(), 8.0, forgets=True)
    second = repaired(two_workers(), first.schedule, 8.0, forgets=True)
    assert second.again == ()
    assert list(second.schedule.assignments) == list(their_plan().assignments)


def test_a_task_that_ran_elsewhere_than_planned_has_run() -> None:
    # c ran on w0, so b's output was there, though no plan had sent it.
    events = [Finished("c", 7.5, start=5.5, worker="w0")]
    first = repaired(two_workers(), their_plan(), 8.0, events)
    second = repaired(two_workers(), first.schedule, 8.0)
    assert row(second, "c") == Assignment("c", "w0", 5.5, 7.5)


def test_a_task_that_began_before_its_input_was_planned_to_be_there() -> None:
    events = [Finished("b", 2.5), Running("c", 5.5, start=2.6)]
    first = repaired(two_workers(), their_plan(), 2.8, events)
    second = repaired(two_workers(), first.schedule, 2.8)
    assert row(second, "c") == Assignment("c", "w1", 2.6, 5.5)


def test_what_a_lost_worker_was_sent_it_had() -> None:
    # w1 had run c before it went, and somebody keeps the output of c elsewhere.
    repairer = Repairer(two_workers(), their_plan())
    first = repairer.replan(8.0, [WorkerLost("w1")])
    assert repairer.replan(8.0).again == ()
    assert list(repairer.schedule.assignments) == list(first.schedule.assignments)


def test_what_runs_has_its_input_though_that_is_made_again() -> None:
    # b's output is worthless at 5 s, but c runs on with what it was given, then and later.
    repairer = Repairer(two_workers(), their_plan())
    first = repairer.replan(5.0, [Running("c", 9.0), Failed("b")])
    check_replan(first)
    assert first.again == ("b",)
    assert row(first, "b").start >= 5.0
    assert row(first, "c") == Assignment("c", "w1", 4, 9)
    while_b_runs = repairer.replan(row(first, "b").start + 0.5)
    check_replan(while_b_runs)
    assert row(while_b_runs, "c") == Assignment("c", "w1", 4, 9)


def test_what_was_fed_by_a_copy_goes_on_when_the_first_is_told_again() -> None:
    # w0, which has made a's output, is lost at 3.5 s, and w1 sends its copy to w2, where c begins
    # with it at 4.5 s. That a has run on w0, as all know, makes no other news of that.
    instance = Instance.from_arrays(
        [[2.0] * 3, [9.0, 2.0, 9.0], [9.0, 9.0, 2.0]],
        [(0, 1, 1.0), (0, 2, 1.0)],
        seconds_per_byte=1.0,
        task_names=["a", "b", "c"],
    )
    runs = (("a", "w0", 0, 2), ("b", "w1", 3, 5), ("c", "w2", 6, 8))
    moves = [Transfer("a", "w0", "w1", 2, 2, 3, 1.0), Transfer("a", "w0", "w2", 5, 5, 6, 1.0)]
    repairer = Repairer(instance, Schedule([Assignment(*run) for run in runs], moves))
    first = repairer.replan(3.5, [WorkerLost("w0")])
    assert row(first, "c") == Assignment("c", "w2", 4.5, 6.5)
    for now in (5.0, 7.0):
        again = repairer.replan(now, [Finished("a", 2.0, worker="w0")])
        check_replan(again)
        assert again.schedule == first.schedule


def test_what_is_made_again_is_not_where_the_first_output_was_read() -> None:
    # b has read a's output on w1, which may not run a, and c on w2; all have forgotten it when w2
    # goes and c with it, which d needs. So a is made again on w0, and goes down with that.
    instance = Instance.from_arrays(
        [[2.0, np.inf, 9.0, 9.0], [1.0] * 4, [1.0] * 4, [1.0] * 4],
        [(0, 1, 1.0), (0, 2, 1.0), (2, 3, 1.0)],
        seconds_per_byte=1.0,
        task_names=["a", "b", "c", "d"],
    )
    runs = (("a", "w0", 0, 2), ("b", "w1", 3, 4), ("c", "w2", 3, 4), ("d", "w2", 4, 5))
    plan = Schedule(
        [Assignment(*run) for run in runs],
        [Transfer("a", "w0", there, 2, 2, 3, 1.0) for there in ("w1", "w2")],
    )
    repairer = Repairer(instance, plan, forgets=True)
    first = repairer.replan(4.0, [WorkerLost("w2")])
    check_replan(first)
    assert row(first, "a") == Assignment("a", "w0", 4, 6)
    second = repairer.replan(6.0, [WorkerLost("w0")])
    check_replan(second)
    assert second.again == ("a",)


@pytest.mark.parametrize(("copies", "arrives"), [([], 7.0), ([Held("t0", "w2", 2.5)], 7.5)])
def test_who_waited_for_a_part_shows_no_whole_output(copies: list[Event], arrives: float) -> None:
    # t1 waits for one of t0's 4 bytes, which are on their way to w1 until 6 s when w0 goes; t2
    # needs all of them there. They are made again behind t1, or sent again from w2.
    edges = [(0, 1, 1.0), (0, 2, 4.0)]
    seconds = [[2.0, 2.0, np.inf], [2.0] * 3, [np.inf, 2.0, np.inf]]
    instance = Instance.from_arrays(seconds, edges, output_bytes=[4, 0, 0], seconds_per_byte=1.0)
    runs = (("t0", "w0", 0, 2), ("t1", "w1", 3, 5), ("t2", "w1", 6, 8))
    moves = [Transfer("t0", "w0", "w1", 2, 2, 6, 4.0)]
    repairer = Repairer(instance, Schedule([Assignment(*run) for run in runs], moves))
    for now, events in ((3.5, [WorkerLost("w0"), *copies]), (4.0, [])):
        result = repairer.replan(now, events)
        check_replan(result)
        assert row(result, "t1") == Assignment("t1", "w1", 3, 5)
        assert row(result, "t2") == Assignment("t2", "w1", arrives, arrives + 2)


@pytest.mark.parametrize("forgets", [False, True])
def test_what_has_begun_stays_begun(forgets: bool) -> None:
    done = 0
    for instance, plan, rng in cases(range(700, 780)):
        now = float(rng.uniform(0, plan.makespan))
        repairer = Repairer(instance, plan, forgets=forgets)
        events = list(some_events(plan, now, rng))
        if rng.random() < 0.5:
            events.append(WorkerLost(str(rng.choice(instance.cluster.names))))
        first = repairer.replan(now, [*events, *elsewhere(plan, now, rng, events)])
        check_replan(first)
        occupied = [event for event in events if isinstance(event, Occupied)]
        second = repairer.replan(now, occupied)
        check_replan(second)
        assert second.again == ()
        assert begun(second.schedule, now) == begun(first.schedule, now)
        longer = second.makespan > first.makespan * (1 + 1e-9)
        assert not longer or late(second, instance) < late(first, instance), "dates come first"
        done += bool(first.again)
    assert done > 5


def late(result: Replan, instance: Instance) -> float:
    """Seconds behind deadlines, over all tasks."""
    graph, plan = instance.graph, result.schedule
    deadline = graph.deadline[[graph.index[name] for name in plan.task_names]][plan.task]
    return float(np.maximum(0.0, plan.end - deadline).sum())


def elsewhere(
    plan: Schedule, now: float, rng: np.random.Generator, events: list[Event]
) -> list[Event]:
    """The last task to end by `now` ended on some other worker instead."""
    told = {event.task for event in events if not isinstance(event, Occupied | WorkerLost)}
    ended = [run for run in plan.assignments if run.end <= now and not run.segments]
    if not ended or rng.random() < 0.5:
        return []
    last = max(ended, key=lambda run: run.end)
    if last.task in told:
        return []
    worker = str(rng.choice(plan.worker_names))
    return [Finished(last.task, last.end, last.start, worker, last.mode, last.instance)]


def begun(schedule: Schedule, now: float) -> set[Assignment]:
    return {run for run in schedule.assignments if run.start < now}


def test_a_copy_that_was_told_of_is_remembered() -> None:
    # Sooner than the link could have brought it: it is there all the same, and b is not sent again.
    repairer = Repairer(two_workers(), their_plan())
    check_replan(repairer.replan(4.5, [Held("b", "w0", 4.2)]))
    second = repairer.replan(4.5, [WorkerLost("w1")])
    check_replan(second)
    assert second.again == ("c",)
    assert row(second, "c").start == 4.5


def test_a_copy_is_remembered_whose_maker_is_lost() -> None:
    repairer = Repairer(two_workers(), their_plan())
    first = repairer.replan(4.5, [WorkerLost("w1"), Held("b", "w0", 4.2)])
    second = repairer.replan(4.5)
    check_replan(second)
    assert second.again == ()
    assert list(second.schedule.assignments) == list(first.schedule.assignments)


def test_a_late_output_is_encoded_for_one_after_the_other() -> None:
    # w0 has one thread, which takes a second to encode a's output for each of w1 and w2; a was to
    # end at 2 s and ended at 4 s. The two were on their way, not encoded at once.
    instance = Instance.from_arrays(
        [[2.0] * 3, [np.inf, 2.0, np.inf], [np.inf, np.inf, 2.0]],
        [(0, 1, 1.0), (0, 2, 1.0)],
        seconds_per_byte=5.0,
        encode_seconds_per_byte=1.0,
        task_names=["a", "b", "c"],
    )
    runs = (("a", "w0", 0, 2), ("b", "w1", 8, 10), ("c", "w2", 9, 11))
    moves = [Transfer("a", "w0", "w2", 3, 4, 9, 1.0), Transfer("a", "w0", "w1", 2, 3, 8, 1.0)]
    plan = Schedule([Assignment(*run) for run in runs], moves)
    result = repaired(instance, plan, 6.5, [Finished("a", 4.0)])
    assert set(result.schedule.transfers) == {
        Transfer("a", "w0", "w1", 4, 5, 10, 1.0),
        Transfer("a", "w0", "w2", 5, 6, 11, 1.0),
    }
    assert (row(result, "b").start, row(result, "c").start) == (10, 11)


@pytest.mark.parametrize(("pace", "arrives"), [(3.0, 5.0), (0.6, 2.6), (0.1, 2.5)])
def test_what_is_on_its_way_takes_what_links_take_now(pace: float, arrives: float) -> None:
    # a's output was sent at 2 s; another instance says how long that takes.
    old = two_workers()
    links = Cluster.from_matrices(old.cluster.workers, seconds_per_byte=pace)
    result = repaired(Instance(old.graph, links, old.seconds), their_plan(), 2.5)
    sent = next(t for t in result.schedule.transfers if t.task == "a")
    assert (sent.start, sent.end) == (2.0, arrives)
    assert row(result, "c").start == max(4.0, arrives)
