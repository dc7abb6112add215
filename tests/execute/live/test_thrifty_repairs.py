"""A plan that was chosen for its memory is not mended at the cost of it; values by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.live import Correction, Course, Execution, Sight
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task import Edge, Task
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule

PAIRS, CHUNK = 6, 8e6


def corrected(chunk: float, thrifty: bool, others: int = 1) -> Correction:
    """Loads of a second, each followed by what consumes it, one pair after the other on one worker:
    one chunk is held at a time. The others have nothing to do after the first second."""
    pairs = [name for i in range(PAIRS) for name in (f"load{i}", f"use{i}")]
    busy = [f"other{i}" for i in range(others)]
    tasks = [Task(name, kind=name[:-1], seconds=1.0, output_bytes=chunk) for name in pairs]
    tasks[1::2] = [replace(task, output_bytes=0.0) for task in tasks[1::2]]
    tasks += [Task(name, kind=name, seconds=1.0) for name in busy]
    edges = [Edge(f"load{i}", f"use{i}") for i in range(PAIRS)]
    graph = TaskGraph.from_tasks(tasks, edges)
    workers = [Worker("a"), *(Worker(f"b{i}") for i in range(others))]
    cluster = Cluster.from_matrices(workers)
    rows = [Assignment(name, "a", float(i), i + 1.0) for i, name in enumerate(pairs)]
    rows += [Assignment(name, f"b{i}", 0.0, 1.0) for i, name in enumerate(busy)]
    done = {"load0": Execution("a", 0.0, 1.0)}
    done |= {name: Execution(f"b{i}", 0.0, 1.0) for i, name in enumerate(busy)}
    course = Course(Instance.price(graph, cluster), Schedule(rows), thrifty=thrifty)
    return course.correct(Sight(now=1.0, cluster=cluster, finished=done))


def test_pairs_go_elsewhere_where_nobody_looks_at_bytes() -> None:
    """In their order, each where it ends first: of eleven seconds that are left four are saved."""
    found = corrected(CHUNK, thrifty=False)
    assert found.pays
    assert found.end == pytest.approx(8.0)


def test_they_stay_where_two_chunks_at_a_time_would_be_held() -> None:
    found = corrected(CHUNK, thrifty=True)
    assert not found.pays
    assert found.end == pytest.approx(12.0)


def test_they_go_where_nothing_is_held() -> None:
    assert corrected(0.0, thrifty=True).pays


def test_they_go_where_more_than_half_of_the_time_is_saved() -> None:
    """Four workers save six seconds of eleven."""
    found = corrected(CHUNK, thrifty=True, others=3)
    assert found.pays
    assert found.end == pytest.approx(6.0)
