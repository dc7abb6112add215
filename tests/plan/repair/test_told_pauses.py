"""What is told of a task that had paused as planned: it had given up its thread meanwhile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.plan.repair import Event, Finished, Occupied, Running
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.plan.repair.by_hand import repaired, row

PIECES = ((0.0, 5.0), (7.0, 12.0))
LONG = Assignment("long", "w0", 0, 12, segments=PIECES)
URGENT, AFTER = Assignment("urgent", "w0", 5, 7), Assignment("after", "w0", 12, 13)


def urgent_in_between(workers: int = 1) -> Instance:
    """Ten seconds with a checkpoint half way, two that are due at 8 s, one after these."""
    instance = Instance.from_arrays(
        np.tile([[10.0], [2.0], [1.0]], workers),
        [(1, 2, 0.0)],
        task_names=["long", "urgent", "after"],
    )
    graph = TaskGraph.from_columns(
        ["long", "urgent", "after"],
        checkpoints=[(0.5,), (), ()],
        release=[0.0, 5.0, 0.0],
        deadline=[np.inf, 8.0, np.inf],
        producer=[1],
        consumer=[2],
    )
    return replace(instance, graph=graph)


def planned() -> Schedule:
    return Schedule([LONG, URGENT, AFTER])


def in_pieces(*pieces: tuple[float, float]) -> Assignment:
    return Assignment("long", "w0", pieces[0][0], pieces[-1][1], segments=pieces)


@pytest.mark.parametrize(
    ("now", "event", "long"),
    [
        (11.0, Running("long", expected_end=14.0), in_pieces((0, 5), (7, 14))),
        (7.0, Running("long", expected_end=13.0), in_pieces((0, 5), (7, 13))),
        (11.0, Running("long", start=1.0, expected_end=14.0), in_pieces((1, 5), (7, 14))),
        (11.0, Running("long", start=7.0, expected_end=14.0), Assignment("long", "w0", 7, 14)),
        (11.0, Finished("long", 11.0), in_pieces((0, 5), (7, 11))),
        (11.0, Finished("long", 8.0), in_pieces((0, 5), (7, 8))),
    ],
)
def test_what_ran_in_its_pause_has_run(now: float, event: Event, long: Assignment) -> None:
    """Nobody reports the other task, whose thread was free when it was to run."""
    instance = urgent_in_between()
    check_schedule(instance, planned())
    for more in ([], [Finished("urgent", 7.0)]):
        result = repaired(instance, planned(), now, [*more, event])
        assert row(result, "long") == long
        assert row(result, "urgent") == URGENT
        assert (result.missed, result.again) == ((), ())
        assert row(result, "after").start == max(now, long.end)
        again = repaired(instance, result.schedule, now + 0.5)
        assert row(again, "long") == long, "the next repair knows it, too"


@pytest.mark.parametrize(
    ("now", "event", "end"),
    [(6.0, Running("long", expected_end=11.0), 11.0), (11.0, Finished("long", 4.0), 4.0)],
)
def test_a_task_that_did_not_pause_has_no_pieces(now: float, event: Event, end: float) -> None:
    result = repaired(urgent_in_between(), planned(), now, [event])
    assert row(result, "long") == Assignment("long", "w0", 0, end)


def test_a_task_that_ran_elsewhere_did_not_pause_there() -> None:
    event = Running("long", expected_end=12.0, start=2.0, worker="w1")
    result = repaired(urgent_in_between(workers=2), planned(), 11.0, [event])
    assert row(result, "long") == Assignment("long", "w1", 2, 12)
    assert row(result, "urgent") == URGENT


def test_somebody_elses_thread_may_be_one_that_encodes() -> None:
    """The worker is as crowded as was told; the check of the repair knows that."""
    cluster = Cluster([Worker("w0"), Worker("w1")], Link(latency=1, encode_rate=1))
    build = TaskGraph.build()
    build.task("x", seconds=3, output_bytes=4, eligible=["w0"])
    build.task("y", seconds=1, after=["x"], eligible=["w1"])
    instance = Instance.price(build.done(), cluster)
    schedule = plan(instance, Budget(seconds=0.2, iterations=10)).schedule
    result = repaired(instance, schedule, 4.0, [Occupied("w0", until=5.0)])
    assert list(result.schedule.assignments) == list(schedule.assignments)
