"""Slack: exactly so much later a task can start, with places and orders kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orchestrator_core as oc
from orchestrator_core import Assignment, Budget, Cluster, Instance, Schedule, TaskGraph, Worker
from orchestrator_core.plan.engine.retime import retime
from orchestrator_core.report.why.network import network_of
from orchestrator_core.report.why.slack import slacks
from tests.random_instances import random_instance


def slack_of(graph, cluster, schedule):
    found = slacks(network_of(graph, cluster, schedule), graph, schedule)
    return {a.task: slack for a, slack in zip(schedule.assignments, found, strict=True)}


def delayed(instance, task, start):
    """The instance in which the task may not start before `start`."""
    release = instance.graph.release.copy()
    release[instance.graph.index[task]] = start
    return Instance(replace(instance.graph, release=release), instance.cluster, instance.seconds)


@pytest.mark.parametrize("seed", range(12))
def test_so_much_later_costs_nothing_and_a_little_more_does(seed):
    """On workers with one thread; `retime` keeps places and orders, and waits for the release."""
    instance = random_instance(np.random.default_rng(seed), 12, 3, encode=seed % 2 == 1)
    schedule = oc.plan(instance, Budget(iterations=50), ["heft"]).schedule
    schedule = retime(instance, schedule)
    end = schedule.makespan
    found = slack_of(instance.graph, instance.cluster, schedule)
    for a in schedule.assignments:
        slack = found[a.task]
        at_most = retime(delayed(instance, a.task, a.start + slack), schedule)
        assert at_most.makespan == pytest.approx(end, abs=1e-6)
        beyond = retime(delayed(instance, a.task, a.start + slack + 0.01), schedule)
        assert beyond.makespan > end + 0.005


def test_by_hand():
    """a (2 s) then c (3 s) on x; b (1 s) on y until 1, and c needs it at 2: b has 1 s."""
    builder = TaskGraph.build()
    builder.task("a", seconds=2)
    builder.task("b", seconds=1)
    builder.task("c", seconds=3, after=["b"])
    schedule = Schedule(
        [Assignment("a", "x", 0, 2), Assignment("b", "y", 0, 1), Assignment("c", "x", 2, 5)],
        [oc.Transfer("b", "y", "x", 1, 1, 1, 0)],
    )
    cluster = Cluster([Worker("x"), Worker("y")])
    assert slack_of(builder.done(), cluster, schedule) == {"a": 0, "b": 1, "c": 0}


def test_two_threads_do_not_wait_for_each_other():
    """x has two threads: a and b side by side, c after a; b may end with the whole."""
    builder = TaskGraph.build()
    for name, seconds in (("a", 2), ("b", 1), ("c", 3)):
        builder.task(name, seconds=seconds)
    schedule = Schedule(
        [Assignment("a", "x", 0, 2), Assignment("b", "x", 0, 1), Assignment("c", "x", 1, 4)]
    )
    found = slack_of(builder.done(), Cluster([Worker("x", threads=2)]), schedule)
    assert found == {"a": 2, "b": 0, "c": 0}


def test_a_resource_is_waited_for_although_threads_are_free():
    """Both need the one GPU: a until 2, then b until 5."""
    builder = TaskGraph.build()
    builder.task("a", seconds=2, resources={"GPU": 1})
    builder.task("b", seconds=3, resources={"GPU": 1})
    schedule = Schedule([Assignment("a", "x", 0, 2), Assignment("b", "x", 2, 5)])
    cluster = Cluster([Worker("x", threads=2, resources={"GPU": 1})])
    assert slack_of(builder.done(), cluster, schedule) == {"a": 0, "b": 0}


def test_a_deadline_that_is_met_stays_met():
    builder = TaskGraph.build()
    builder.task("a", seconds=1, deadline=1.5)
    builder.task("b", seconds=4)
    schedule = Schedule([Assignment("a", "x", 0, 1), Assignment("b", "y", 0, 4)])
    found = slack_of(builder.done(), Cluster([Worker("x"), Worker("y")]), schedule)
    assert found == {"a": 0.5, "b": 0}


def test_a_part_of_an_output_is_waited_for_no_longer_than_it_takes():
    """At 1 byte/s, of 10 bytes 2 are needed: the consumer starts at 3, and neither has slack."""
    builder = TaskGraph.build()
    builder.task("a", seconds=1, output_bytes=10)
    builder.task("b", seconds=20)
    builder.edge("a", "b", nbytes=2)
    cluster = Cluster([Worker("x"), Worker("y")], oc.Link(bandwidth=1))
    schedule = Schedule(
        [Assignment("a", "x", 0, 1), Assignment("b", "y", 3, 23)],
        [oc.Transfer("a", "x", "y", 1, 1, 11, 10)],
    )
    assert slack_of(builder.done(), cluster, schedule) == {"a": 0, "b": 0}
