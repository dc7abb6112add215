"""Schedules in canonical places and back, on the same graph and cluster under other names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.costs import Instance
from orchestrator_core.errors import InvalidSchedule
from orchestrator_core.graph import Cluster, Edge, TaskGraph, Worker
from orchestrator_core.graph.signature import cluster_signature, graph_signature
from orchestrator_core.plan.canonical import from_canonical, to_canonical
from orchestrator_core.plan.check import check_schedule
from orchestrator_core.plan.schedule import Assignment, Schedule, Transfer
from tests.strategies import instances, serial_schedule


def stored(instance: Instance, schedule: Schedule) -> Schedule:
    graph, cluster = instance.graph, instance.cluster
    return to_canonical(
        schedule, graph, cluster, graph_signature(graph), cluster_signature(cluster)
    )


def recalled(instance: Instance, schedule: Schedule) -> Schedule:
    graph, cluster = instance.graph, instance.cluster
    return from_canonical(
        schedule, graph, cluster, graph_signature(graph), cluster_signature(cluster)
    )


def renamed(instance: Instance, seed: int) -> Instance:
    """The same instance, its tasks and workers renamed and in another order.

    Seconds, edges' bytes and outputs are those of the instance: a schedule for one is valid for
    the other only if each task and worker lands on its own.
    """
    graph, cluster = instance.graph, instance.cluster
    rng = np.random.default_rng(seed)
    tasks, workers = rng.permutation(len(graph)), rng.permutation(len(cluster))
    name = {graph.names[old]: f"task {new}" for new, old in enumerate(tasks)}
    modes = np.concatenate([np.arange(graph.mode_ptr[i], graph.mode_ptr[i + 1]) for i in tasks])
    return Instance(
        TaskGraph.from_tasks(
            [replace(graph.task(old), name=f"task {new}") for new, old in enumerate(tasks)],
            [
                Edge(name[e.producer], name[e.consumer], e.nbytes, e.multiplicity)
                for e in graph.edges()
            ],
        ),
        Cluster.from_matrices(
            [replace(cluster.workers[k], name=f"worker {i}") for i, k in enumerate(workers)],
            latency=cluster.latency[np.ix_(workers, workers)],
            seconds_per_byte=cluster.seconds_per_byte[np.ix_(workers, workers)],
            encode_seconds_per_byte=cluster.encode_seconds_per_byte[np.ix_(workers, workers)],
            stock=cluster.stock,
        ),
        instance.seconds[np.ix_(modes, workers)],
    )


@given(instances(any_constraints=True))
def test_there_and_back_is_the_same_schedule(instance: Instance) -> None:
    schedule = serial_schedule(instance)
    assert recalled(instance, stored(instance, schedule)) == schedule


@given(instances(), st.integers(0, 99))
def test_a_schedule_is_valid_for_the_renamed_instance(instance: Instance, seed: int) -> None:
    """Every task has a kind of its own, and so every worker: there is one way to map them."""
    graph, cluster = instance.graph, instance.cluster
    distinct = Instance(
        TaskGraph.from_tasks(
            [replace(task, kind=task.name, eligible=None) for task in graph.tasks()], graph.edges()
        ),
        Cluster.from_matrices(
            [replace(worker, kind=worker.name) for worker in cluster.workers],
            latency=cluster.latency,
            seconds_per_byte=cluster.seconds_per_byte,
            encode_seconds_per_byte=cluster.encode_seconds_per_byte,
            stock=cluster.stock,
        ),
        instance.seconds,
    )
    schedule = serial_schedule(distinct)
    other = renamed(distinct, seed)
    mapped = recalled(other, stored(distinct, schedule))
    check_schedule(other, mapped)
    assert mapped.makespan == schedule.makespan


def chain() -> Instance:
    builder = TaskGraph.build()
    builder.task("a", kind="k", seconds=1.0, output_bytes=2.0)
    builder.task("b", kind="k", seconds=1.0, after=["a"])
    return Instance.price(builder.done(), Cluster([Worker("v"), Worker("w")]))


def test_names_on_the_canonical_side_are_places() -> None:
    """Two tasks, two workers, a transfer: whichever is at place 0, nothing else is named."""
    schedule = Schedule(
        [Assignment("a", "v", 0, 1), Assignment("b", "w", 1, 2)],
        [Transfer("a", "v", "w", 1, 1, 1, 2.0)],
    )
    canonical = stored(chain(), schedule)
    assert canonical.task_names == canonical.worker_names == ("0", "1")
    assert [t.nbytes for t in canonical.transfers] == [2.0]
    assert recalled(chain(), Schedule.from_json(canonical.to_json())) == schedule


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Assignment("2", "0", 0, 1), r"the task at place '2'; there are 2 tasks"),
        (Assignment("0", "-1", 0, 1), r"the worker at place '-1'; there are 2 workers"),
        (Assignment("x", "0", 0, 1), r"the task at place 'x'"),
        (Assignment("00", "0", 0, 1), r"the task at place '00'"),
        (Assignment("0", "0", 0, 1, mode=1), r"names mode 1 of a task that has 1"),
        (Assignment("0", "0", 0, 1, instance=3), r"names instance 3 of a task that has 1"),
    ],
)
def test_a_schedule_of_another_graph_is_refused(row: Assignment, message: str) -> None:
    with pytest.raises(InvalidSchedule, match=message):
        recalled(chain(), Schedule([row]))


def test_a_schedule_that_names_strangers_cannot_be_stored() -> None:
    with pytest.raises(InvalidSchedule, match="names the task 'z'; it is none of the 2 tasks"):
        stored(chain(), Schedule([Assignment("z", "v", 0, 1)]))
    with pytest.raises(InvalidSchedule, match="names the worker 'z'"):
        stored(chain(), Schedule([Assignment("a", "z", 0, 1)]))
