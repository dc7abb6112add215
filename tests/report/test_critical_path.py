"""The chain that made a run as long as it was."""

from __future__ import annotations

from orchestrator_core import TaskGraph
from orchestrator_core.report.critical_path import Bar, critical_path


def graph():
    """a -> c; b stands alone.  c waits for a's output, b only for its worker."""
    builder = TaskGraph.build()
    builder.task("a")
    builder.task("b")
    builder.task("c", after=["a"])
    return builder.done()


def test_a_task_waits_for_the_input_that_came_last():
    bars = [Bar("a", "w0", 0, 3), Bar("b", "w1", 0, 1), Bar("c", "w1", 3, 5)]
    chain = critical_path(bars, graph())
    assert [link.bar.task for link in chain] == ["a", "c"]
    assert (chain[1].waited_for, chain[1].because, chain[1].idle) == ("a", "input", 0)


def test_a_task_waits_for_its_worker_when_that_was_free_last():
    bars = [Bar("a", "w0", 0, 1), Bar("b", "w1", 0, 4), Bar("c", "w1", 4, 5)]
    chain = critical_path(bars, graph())
    assert [(link.bar.task, link.because) for link in chain] == [("b", "start"), ("c", "worker")]


def test_idle_time_before_a_task_is_told():
    bars = [Bar("a", "w0", 0.5, 1), Bar("c", "w1", 1.75, 2)]
    assert [link.idle for link in critical_path(bars, graph())] == [0.5, 0.75]


def test_a_bar_that_ends_a_moment_late_by_its_clock_still_held_its_worker():
    bars = [Bar("a", "w1", 0, 1), Bar("b", "w1", 1, 4.005), Bar("c", "w1", 4, 5)]
    chain = critical_path(bars, graph())
    assert [(link.bar.task, link.waited_for) for link in chain][-1] == ("c", "b")
    assert chain[-1].idle == 0


def test_nothing_ran_nothing_is_critical():
    assert critical_path([], graph()) == []


def test_tasks_of_zero_length_do_not_loop():
    bars = [Bar("a", "w0", 1, 1), Bar("b", "w0", 1, 1), Bar("c", "w0", 1, 1)]
    chain = critical_path(bars, graph())
    assert [(link.bar.task, link.waited_for) for link in chain] == [("a", "start"), ("c", "a")]


def test_bars_of_no_length_on_a_worker_stand_in_one_order():
    builder = TaskGraph.build()
    for name in "abc":
        builder.task(name)
    bars = [Bar(name, "w0", 1, 1) for name in "abc"]
    assert [link.waited_for for link in critical_path(bars, builder.done())] == ["start", "a", "b"]


def test_an_attempt_waits_for_the_one_before_it():
    bars = [Bar("b", "w0", 0, 1), *(Bar("a", "w0", i, i + 1) for i in (1, 2, 3))]
    chain = critical_path(bars, graph())
    assert [(link.bar.start, link.waited_for, link.idle) for link in chain] == [
        (0, "start", 0),
        (1, "b", 0),
        (2, "a", 0),
        (3, "a", 0),
    ]


def test_what_is_the_same_twice_does_not_loop():
    bars = [Bar("a", "w0", 1, 1), Bar("a", "w0", 1, 1)]
    assert [link.waited_for for link in critical_path(bars, graph())] == ["start"]


def test_a_task_did_not_wait_for_a_worker_that_had_a_thread_to_spare():
    """Of two threads b had one until 4; only where another task had the other did c wait for it."""
    b, c = Bar("b", "w0", 0, 4), Bar("c", "w0", 5, 9)
    for others, threads, held_by in (
        ([], 2, "start"),
        ([Bar("a", "w0", 0, 1)], 2, "a"),
        ([Bar("d", "w0", 0, 7)], 2, "b"),
        ([Bar("d", "w0", 0, 3.99), Bar("e", "w0", 4.01, 6)], 2, "b"),
        ([Bar("d", "w0", 0, 7)], 3, "start"),
        ([], 1, "b"),
    ):
        chain = critical_path([b, c, *others], graph(), {"w0": threads})
        assert (chain[-1].bar, chain[-1].waited_for) == (c, held_by), (others, threads)


def test_what_a_task_needs_beside_threads_the_one_before_it_may_have_had():
    builder = TaskGraph.build()
    for name in "bc":
        builder.task(name, resources={"GPU": 1})
    bars = [Bar("b", "w0", 0, 4), Bar("c", "w0", 4, 9)]
    assert critical_path(bars, builder.done(), {"w0": 8})[-1].waited_for == "b"
