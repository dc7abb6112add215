"""Binding: the one thing that kept a task from starting sooner, each kind by hand."""

from __future__ import annotations

import pytest

from orchestrator_core import Assignment, Cluster, Link, Schedule, TaskGraph, Transfer, Worker
from orchestrator_core.report.why.binding import Binding, binding_of
from orchestrator_core.report.why.network import network_of

PAIR = [Worker("x"), Worker("y")]


def binding(builder, cluster, rows, transfers=(), of="b"):
    graph, schedule = builder.done(), Schedule(rows, transfers)
    row = [a.task for a in schedule.assignments].index(of)
    return binding_of(graph, cluster, schedule, network_of(graph, cluster, schedule), row)


def two(**of_b):
    builder = TaskGraph.build()
    builder.task("a", seconds=2, output_bytes=1)
    builder.task("b", seconds=1, **of_b)
    return builder


def test_it_starts_with_the_run():
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "y", 0, 1)]
    assert binding(two(), Cluster(PAIR), rows) == Binding("start")


def test_it_starts_with_the_plan_which_begins_after_the_submissions():
    rows = [Assignment("a", "x", 0.5, 2.5), Assignment("b", "y", 0.5, 1.5)]
    cluster = Cluster([Worker("x", memory=10), Worker("y", memory=10)])
    assert binding(two(), cluster, rows) == Binding("start")


def test_an_input_made_on_the_same_worker_counts_more_than_the_place():
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "x", 2, 3)]
    found = binding(two(after=["a"]), Cluster(PAIR), rows)
    assert found == Binding("input", "a", "x", since=2)


def test_an_input_that_is_sent():
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "y", 3, 4)]
    sent = [Transfer("a", "x", "y", 2, 2, 3, 1)]
    found = binding(two(after=["a"]), Cluster(PAIR, Link(latency=1)), rows, sent)
    assert found == Binding("transfer", "a", "x", since=0)


def test_a_worker_that_is_busy_with_another():
    """b was ready at once."""
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "x", 2, 3)]
    assert binding(two(), Cluster(PAIR), rows) == Binding("worker", "a", "x", since=0)


def test_a_worker_with_a_free_thread_is_no_reason():
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "x", 2, 3)]
    found = binding(two(), Cluster([Worker("x", threads=2)]), rows)
    assert found == Binding("hold", since=0)


def test_a_worker_that_is_busy_with_sending():
    """At one byte per second a's output keeps the thread of x from 2 to 3."""
    builder = two()
    builder.task("c", seconds=1, after=["a"])
    rows = [
        Assignment("a", "x", 0, 2),
        Assignment("b", "x", 3, 4),
        Assignment("c", "y", 3, 4),
    ]
    sent = [Transfer("a", "x", "y", 2, 3, 3, 1)]
    found = binding(builder, Cluster(PAIR, Link(encode_rate=1)), rows, sent)
    assert found == Binding("sending", "a", "x", since=0)


def test_a_resource_that_another_has():
    builder = TaskGraph.build()
    for name, seconds in (("a", 2), ("b", 1)):
        builder.task(name, seconds=seconds, resources={"GPU": 1})
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "x", 2, 3)]
    cluster = Cluster([Worker("x", threads=2, resources={"GPU": 1})])
    assert binding(builder, cluster, rows) == Binding("resource", "a", "x", name="GPU", since=0)


def test_a_release():
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "y", 5, 6)]
    assert binding(two(release=5), Cluster(PAIR), rows) == Binding("release", since=0)


@pytest.mark.parametrize(("memory", "because"), [(100.0, "memory"), (float("inf"), "hold")])
def test_nothing_that_can_be_seen(memory, because):
    """Nobody is on y, and b needs nothing."""
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "y", 2, 3)]
    cluster = Cluster([Worker("x"), Worker("y", memory=memory)])
    assert binding(two(), cluster, rows) == Binding(because, since=0)


def test_nothing_but_the_code_that_submits_it_later():
    """The flow waited for a, and computed; so b is on nobody's way, and no memory is short."""
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "y", 3, 4)]
    graph, schedule = two().done(), Schedule(rows)
    cluster = Cluster([Worker("x"), Worker("y", memory=100.0)])
    network = network_of(graph, cluster, schedule)
    found = binding_of(graph, cluster, schedule, network, 1, came_later=True)
    assert found == Binding("submitted", since=0)


def test_what_else_was_ready_before_is_told():
    """b waits for a until 2, and its worker for c until 1.5."""
    builder = two(after=["a"])
    builder.task("c", seconds=1.5)
    rows = [Assignment("a", "x", 0, 2), Assignment("b", "y", 2, 3), Assignment("c", "y", 0, 1.5)]
    sent = [Transfer("a", "x", "y", 2, 2, 2, 1)]
    assert binding(builder, Cluster(PAIR), rows, sent).since == 1.5
