"""What a flow has not waited for."""

from __future__ import annotations

from typing import Any

import pytest
from prefect import task

from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.store.base import failing
from orchestrator_prefect.runs.left import left_line, left_running
from orchestrator_prefect.sending.epoch import Submission

from ..conftest import Advisor
from ..earlier import Knowing, in_turns
from ..parity import gate, notes
from ..parity.test_left_alone import outlives_its_flow
from ..processes import until
from ..test_planned_runs import run_with, said  # noqa: F401

STILL = [Submission(f"audit-{i}", "audit", f"k{i}") for i in range(3)]


def test_what_runs_is_noted_as_far_as_it_came() -> None:
    cluster = Cluster([Worker("w", kind="big")])
    running = {"k0": ("w", 1.5), "k1": ("gone", 1.0), "k2": ("w", 9.0)}
    first, last = left_running(STILL, running, cluster, now=4.0)
    assert (first.task, first.kind, first.worker, first.worker_kind) == (
        "audit-0",
        "audit",
        "w",
        "big",
    )
    assert (first.start, first.end, first.status) == (2.5, 4.0, "left")
    assert (last.task, last.start) == ("audit-2", 0.0), "not before the run"


@pytest.mark.parametrize(
    ("running", "said"),
    [(0, "all are dropped"), (3, "all had begun"), (2, "2 of them had begun, the others")],
)
def test_the_line_says_what_becomes_of_them(running: int, said: str) -> None:  # noqa: F811
    assert f"3 tasks, such as 'audit-0': {said}" in left_line(STILL, running)


def leaves() -> None:
    from prefect.runtime import flow_run

    future = outlives_its_flow.submit()
    future.add_done_callback(lambda done: None)  # It is sent; nobody waits.
    until(lambda: notes.of(flow_run.id) == ["begun"], "the task begins")


def test_a_flow_that_does_not_wait_is_no_longer_watched_for_ever(
    cluster: Any,
    advisor: Advisor,
    said: list[Any],  # noqa: F811
) -> None:
    """Nobody ever saw how long its task takes, so that each run was a first one."""
    gate.close()
    try:
        (run,) = run_with(cluster, advisor, leaves)
    finally:
        gate.open()
    (left,) = run.tasks
    assert (left.task, left.status, left.worker in run.cluster.names) == (
        "outlives_its_flow-0",
        "left",
        True,
    )
    assert 0 < left.seconds <= left.end == run.seconds
    assert failing(run) == [left]
    assert (
        "The flow ended without waiting for 1 task, such as 'outlives_its_flow-0': all had begun"
        in "".join(record.getMessage() for record in said)
    )


@task
def quick() -> int:
    return 1


def ends_without_most() -> int:
    first = quick.submit()
    others = [outlives_its_flow.submit() for _ in range(20)]
    assert len(others) == 20
    return first.result()


def test_what_a_run_ended_without_is_no_part_of_the_next_forecast(cluster: Any) -> None:
    """Twenty tasks that nobody waits for, of which some begin: forecasts had all of them in."""
    knowing: Any = Knowing(in_turns)
    for _ in range(2):
        gate.close()
        try:
            first = run_with(cluster, knowing, ends_without_most)[0]
        finally:
            gate.open()
    second = knowing.runs[1]
    assert [graph.names for graph in knowing.asked[1:]] == [("quick-0",)]
    assert first.needed.names == ("quick-0",)
    assert len(first.left) == 20
    assert second.graph == first.graph, "what was submitted is written down all the same"
    assert second.plan is not None
    assert second.plan.schedule.task_names == ("quick-0",)
    # One task of one second, from when it went out.
    (sent,) = second.plan.schedule.start
    assert second.plan.predicted - sent == pytest.approx(1.0)
    assert {record.status for record in second.tasks if record.task != "quick-0"} <= {"left"}
