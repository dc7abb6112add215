"""Planned against actual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.drift import drift
from orchestrator_core.plan.schedule import Assignment, Schedule


def run_of(
    planned: list[Assignment], actual: list[tuple[str, str, float, float]], **plan: Any
) -> RunRecord:
    """A run with this plan and these executions (task, worker, start, end)."""
    schedule = Schedule(planned)
    promise = PlanRecord(schedule, schedule.makespan, 0.0, "none", "heft", "miss", True, "")
    tasks = tuple(TaskRecord(t, t, w, "any", start, end) for t, w, start, end in actual)
    return RunRecord(
        run_id="r",
        flow="f",
        started_at=0.0,
        seconds=max(record.end for record in tasks),
        mode="planned",
        reason="",
        graph=TaskGraph.build().done(),
        cluster=Cluster([Worker("w0"), Worker("w1")]),
        graph_signature="",
        cluster_signature="",
        plan=replace(promise, **plan),
        tasks=tasks,
    )


PLANNED = [
    Assignment("a", "w0", 0.0, 1.0),
    Assignment("b", "w1", 0.0, 2.0),
    Assignment("c", "w0", 1.0, 5.0),
]


def test_a_run_as_planned_has_no_drift() -> None:
    found = drift(run_of(PLANNED, [(a.task, a.worker, a.start, a.end) for a in PLANNED]))
    assert found is not None
    assert (found.ratio, found.median_error, found.moved, found.compared) == (1.0, 0.0, 0, 3)


def test_what_was_late_is_named_the_worst_first() -> None:
    actual = [("a", "w0", 0.0, 1.5), ("b", "w0", 1.5, 3.5), ("c", "w0", 3.5, 10.0)]
    found = drift(run_of(PLANNED, actual), worst=2)
    assert found is not None
    assert found.ratio == 2.0
    assert found.median_error == 0.5
    assert found.moved == 1
    assert [(late.task, late.planned, late.actual) for late in found.worst] == [
        ("c", 4.0, 6.5),
        ("a", 1.0, 1.5),
    ]


def test_identical_instances_are_paired_in_order() -> None:
    planned = [Assignment("a", "w0", float(i), i + 1.0, instance=i) for i in range(3)]
    found = drift(run_of(planned, [("a", "w1", 5.0, 8.0), ("a", "w0", 0.0, 1.0)]))
    assert found is not None
    assert found.compared == 2
    assert [late.actual for late in found.worst] == [3.0, 1.0]


def test_pauses_are_not_counted_as_work() -> None:
    planned = [Assignment("a", "w0", 0.0, 9.0, segments=((0.0, 1.0), (8.0, 9.0)))]
    found = drift(run_of(planned, [("a", "w0", 0.0, 2.0)]))
    assert found is not None
    assert found.median_error == 0.0


def test_failed_executions_are_not_compared() -> None:
    run = run_of(PLANNED, [("a", "w0", 0.0, 9.0)])
    failed = replace(run, tasks=(replace(run.tasks[0], status="failed"),))
    found = drift(failed)
    assert found is not None
    assert (found.compared, found.worst, found.median_error) == (0, (), 0.0)


def test_a_run_without_a_plan_cannot_drift() -> None:
    assert drift(replace(run_of(PLANNED, [("a", "w0", 0.0, 1.0)]), plan=None)) is None


@pytest.mark.parametrize(("actual", "ratio"), [(4.0, 0.8), (5.0, 1.0), (7.5, 1.5)])
def test_the_ratio_is_that_of_the_makespans(actual: float, ratio: float) -> None:
    found = drift(run_of(PLANNED, [("c", "w0", 1.0, actual)]))
    assert found is not None
    assert found.ratio == pytest.approx(ratio)
