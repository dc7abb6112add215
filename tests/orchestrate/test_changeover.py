"""What a worker takes between two tasks is learned from runs, and planned with."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph import Cluster, Edge, Task, TaskGraph, Worker
from orchestrator_core.orchestrate.changeover import ENOUGH, LONGEST, changeover_of, with_changeover
from orchestrator_core.orchestrate.experience import Experience
from tests.orchestrate.test_experience import CLUSTER
from tests.orchestrate.test_experience import run as run_of

TASKS = 20


def in_turn(gap: float, seconds: float = 0.1, threads: int = 1, worker: str = "a") -> RunRecord:
    """Independent tasks, one after the other on each thread of a worker, with `gap` s between."""
    graph = TaskGraph.from_tasks([Task(f"t{i}", seconds=1.0) for i in range(TASKS)])
    rows = []
    for i in range(TASKS):
        # Threads are a little apart, as they are in life.
        start = (i // threads) * (seconds + gap) + (i % threads) * 0.01
        rows.append(TaskRecord(f"t{i}", "t", worker, "k", start, start + seconds))
    return replace(run_of("observed", 2.0), graph=graph, tasks=tuple(rows))


@pytest.mark.parametrize("threads", [1, 3])
def test_it_is_the_time_between_tasks_that_were_at_hand(threads: int) -> None:
    assert changeover_of(in_turn(0.004, threads=threads)) == pytest.approx(0.004)


def test_waiting_for_inputs_is_none() -> None:
    """Each task reads the one before it: whatever passes in between, the worker had no choice."""
    edges = [Edge(f"t{i}", f"t{i + 1}") for i in range(TASKS - 1)]
    tasks = [Task(f"t{i}", seconds=1.0) for i in range(TASKS)]
    chained = replace(in_turn(0.03), graph=TaskGraph.from_tasks(tasks, edges))
    assert changeover_of(chained) is None


def test_few_of_them_tell_nothing_and_no_one_is_believed_to_be_long() -> None:
    run = in_turn(0.004)
    assert changeover_of(replace(run, tasks=run.tasks[:ENOUGH])) is None
    assert changeover_of(in_turn(3.0)) == LONGEST


def test_workers_like_these_have_it_in_every_graph() -> None:
    experience = Experience()
    assert experience.changeover(CLUSTER) == 0.0
    for gap in (0.0041, 0.0202, 0.0039):
        experience.learn(in_turn(gap))
    assert experience.changeover(CLUSTER) == 0.004, "the median, rounded"
    assert experience.changeover(Cluster([Worker("c", kind="other")])) == 0.0


def test_each_task_takes_its_worker_longer_and_no_other_can_run_it() -> None:
    from orchestrator_core import Instance

    graph = TaskGraph.from_tasks([Task("t", seconds=1.0), Task("u", seconds=2.0, eligible=("a",))])
    instance = Instance.price(graph, Cluster([Worker("a"), Worker("b", speed=2.0)]))
    assert with_changeover(instance, 0.0) is instance
    found = with_changeover(instance, 0.25).seconds.tolist()
    assert found == [[1.25, 0.75], [2.25, math.inf]]


def test_a_forecast_begins_when_the_first_task_does() -> None:
    experience = Experience()
    for _ in range(3):
        late = in_turn(0.004)
        rows = [replace(row, start=row.start + 0.5, end=row.end + 0.5) for row in late.tasks]
        experience.learn(replace(late, seconds=2.5, tasks=tuple(rows)))
    assert experience.of("g", CLUSTER).planned(2.0) == 2.5
    assert experience.of("g", CLUSTER).default(2.0) == pytest.approx(2.5)


def test_what_takes_no_time_takes_none_between_tasks_either() -> None:
    """As what was computed before: it is there."""
    graph = TaskGraph.from_tasks([Task("there", seconds=0.0), Task("task", seconds=1.0)])
    instance = Instance.price(graph, Cluster([Worker("w")]))
    assert with_changeover(instance, 0.25).seconds.tolist() == [[0.0], [1.25]]
