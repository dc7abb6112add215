"""Sending ahead: when it pays, and when copies would crowd a worker; and all measures together."""

from __future__ import annotations

import math

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.measures.ahead import bytes_ahead, pays_to_send_ahead
from orchestrator_core.execute.measures.measures import NONE, choose_measures
from orchestrator_core.execute.simulate.rehearsal import Rehearsal
from orchestrator_core.graph.cluster import Cluster, Link, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.execute.overtaken import overtaken


def join(
    nbytes: float = 3.0, memory: float = math.inf, bandwidth: float = 1.0
) -> tuple[Instance, Schedule]:
    """x (1 s, on w1) and y (5 s, on w2) feed z (1 s, on w2).

    x arrives ``nbytes / bandwidth`` s after y is done, or after its own end if it is sent ahead.
    """
    tasks = [
        Task("x", seconds=1.0, output_bytes=nbytes),
        Task("y", seconds=5.0),
        Task("z", seconds=1.0),
    ]
    cluster = Cluster([Worker("w1"), Worker("w2", memory=memory)], Link(bandwidth=bandwidth))
    graph = TaskGraph.from_tasks(tasks, [Edge("x", "z"), Edge("y", "z")])
    arrives = 1.0 + nbytes / bandwidth
    plan = Schedule(
        [
            Assignment("x", "w1", 0.0, 1.0),
            Assignment("y", "w2", 0.0, 5.0),
            Assignment("z", "w2", 5.0, 6.0),
        ],
        [Transfer("x", "w1", "w2", 1.0, 1.0, arrives, nbytes)],
    )
    return Instance.price(graph, cluster), plan


def pays(instance: Instance, plan: Schedule) -> bool:
    return pays_to_send_ahead(Rehearsal(instance, plan), [instance.seconds])


def test_it_pays_where_the_way_is_long() -> None:
    assert pays(*join())  # 6 s instead of 9 s


def test_it_does_not_pay_where_the_way_is_short() -> None:
    assert not pays(*join(bandwidth=100.0))  # 6 s instead of 6.03 s


def test_it_does_not_pay_where_nothing_travels() -> None:
    assert not pays(*overtaken())


@pytest.mark.parametrize(("memory", "expected"), [(30.0, True), (29.0, False)])
def test_copies_that_are_not_needed_yet_may_take_a_tenth_of_the_memory(
    memory: float, expected: bool
) -> None:
    """3 bytes wait for z on w2 from 1 s to 5 s."""
    assert pays(*join(memory=memory)) is expected


def test_bytes_are_ahead_from_their_sending_until_a_consumer_is_ready() -> None:
    assert bytes_ahead(Rehearsal(*join()).run(prefetch=True)) == [0.0, 3.0]
    assert bytes_ahead(Rehearsal(*join()).run()) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("case", "prefetch", "held"),
    [
        (join(), True, set()),
        (join(bandwidth=100.0), False, set()),
        (overtaken(), False, {"t"}),
        (overtaken(last=0.01), False, set()),
    ],
)
def test_measures_are_taken_only_where_they_gain(
    case: tuple[Instance, Schedule], prefetch: bool, held: set[str]
) -> None:
    instance, plan = case
    measures = choose_measures(instance, instance, plan)
    assert (measures.prefetch, set(measures.holds)) == (prefetch, held)
    assert (measures == NONE) is not (prefetch or bool(held))
