"""Transfers that meet take longer: what that is in a graph's runs is planned with in its next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph import Cluster, Edge, Link, Task, TaskGraph, Worker
from orchestrator_core.graph.part import part
from orchestrator_core.orchestrate.crowding import MOST, crowding_of
from orchestrator_core.orchestrate.experience import Experience
from tests.orchestrate.test_experience import run as run_of

PAIRS = 4
LARGE = 50_000_000.0
LINKED = Cluster([Worker("a"), Worker("b")], Link(latency=0.0, bandwidth=1e8))
"""A large output takes 0.5 s alone."""


def exchanged(seconds: float, nbytes: float = LARGE, pairs: int = PAIRS) -> RunRecord:
    """Outputs made on one worker and read on the other, twice: the second time they are there.

    All are fetched at the same time, in so many seconds."""
    tasks, edges, rows = [], [], []
    for i in range(pairs):
        made, read, again = f"made{i}", f"read{i}", f"again{i}"
        tasks += [Task(name, kind=name[:4], seconds=1.0) for name in (made, read, again)]
        edges += [Edge(made, read), Edge(made, again)]
        rows.append(TaskRecord(made, "made", "a", "k", 0.0, 1.0, nbytes=nbytes))
        rows.append(TaskRecord(read, "read", "b", "k", 9.0, 10.0, transfer_seconds=seconds))
        rows.append(TaskRecord(again, "agai", "b", "k", 10.0, 11.0))
    graph = TaskGraph.from_tasks(tasks, edges)
    run = run_of("observed", 11.0, cluster=LINKED, measured=LINKED)
    return replace(run, graph=graph, tasks=tuple(rows))


@pytest.mark.parametrize(
    ("seconds", "found"), [(1.0, 2.0), (0.5, 1.0), (0.3, 1.0), (1.5, 3.0), (50.0, MOST)]
)
def test_it_is_what_transfers_took_over_what_they_take_alone(seconds: float, found: float) -> None:
    assert crowding_of(exchanged(seconds)) == pytest.approx(found)


def test_small_or_few_transfers_tell_nothing() -> None:
    assert crowding_of(exchanged(1.0, nbytes=1000.0)) is None
    assert crowding_of(exchanged(1.0, pairs=2)) is None


def test_what_was_computed_before_is_fetched_too() -> None:
    """Each 1 s, in place of 0.5 s; what the reader's own worker has is not fetched, and of what two
    workers have nobody knows whom it came from."""
    run = exchanged(1.0)
    where = {"made0": ("a",), "made1": ("a",), "made2": ("a",), "made3": ("a", "c")}
    tasks = [
        replace(task, seconds=0.0, output_bytes=LARGE, eligible=where[task.name])
        if task.name in where
        else task
        for task in run.graph.tasks()
    ]
    run = replace(
        run,
        graph=part(run.graph, set(run.graph.names) - where.keys()),
        with_stored=TaskGraph.from_tasks(tasks, run.graph.edges()),
        tasks=tuple(task for task in run.tasks if task.task not in where),
    )
    assert crowding_of(run) == pytest.approx(2.0)
    assert crowding_of(replace(run, with_stored=None)) is None


def test_it_is_remembered_by_graph() -> None:
    experience = Experience()
    for seconds in (0.5, 1.01, 3.0):
        experience.learn(exchanged(seconds))
    assert experience.of("g", LINKED).usual_crowding == 2.0, "the median, rounded"
    assert experience.of("other", LINKED).usual_crowding == 1.0
