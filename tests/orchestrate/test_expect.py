"""Forecasts: what a schedule takes when its tasks do not keep to their durations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core import Budget, Instance, Schedule, plan
from orchestrator_core.orchestrate.expect import expected_makespans, steadier
from orchestrator_core.plan.schedule import Assignment


def fork(tasks=12):
    """Equal tasks on three workers, then one that needs them all."""
    edges = [(i, tasks, 0.0) for i in range(tasks)]
    return Instance.from_arrays(np.ones((tasks + 1, 3)), edges)


def longer(instance, factor):
    return Instance(instance.graph, instance.cluster, instance.seconds * factor)


def planned(instance):
    return plan(instance, Budget(seconds=0.0), planners=["heft"])


def test_without_deviations_a_schedule_takes_its_makespan():
    instance = fork()
    schedule = planned(instance).schedule
    assert expected_makespans(instance, instance, [schedule]) == pytest.approx([5.0])


def test_deviations_make_it_take_longer_the_more_the_wider_they_are():
    """A join waits for the last of its inputs: gains of the others are lost."""
    instance = fork()
    schedule = planned(instance).schedule
    exact, some, many = (
        expected_makespans(instance, longer(instance, f), [schedule])[0] for f in (1, 1.2, 1.6)
    )
    assert exact < some < many < 1.6 * exact


def test_the_same_question_has_the_same_answer():
    instance = fork()
    schedule = planned(instance).schedule
    first, again = (expected_makespans(instance, longer(instance, 1.3), [schedule]) for _ in "ab")
    assert first == again


def test_an_order_that_lets_a_chain_wait_is_turned_around():
    """
    a (1 s) -> b (5 s on w1), and fillers f, g (2 s each), on w0 and w1.

    Both orders take 6 s as planned: a, f, g on w0 then leave slack; f, a, g make b wait for a.
    """
    seconds = [[1, np.inf], [np.inf, 3], [2, np.inf], [2, np.inf]]
    instance = Instance.from_arrays(seconds, [(0, 1, 0.0)], task_names=["a", "b", "f", "g"])
    late = Schedule(
        [
            Assignment("f", "w0", 0, 2),
            Assignment("a", "w0", 2, 3),
            Assignment("g", "w0", 3, 5),
            Assignment("b", "w1", 3, 6),
        ]
    )
    result = steadier(instance, longer(instance, 1.5), replace(planned(instance), schedule=late))
    assert {a.task: a.start for a in result.schedule.assignments}["a"] == 0
    assert result.makespan == 5


def test_a_schedule_that_is_steady_already_is_left_alone():
    instance = fork()
    result = planned(instance)
    assert steadier(instance, longer(instance, 1.2), result) is result
