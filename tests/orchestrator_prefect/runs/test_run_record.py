"""The record of a flow run counts from its first submission."""

from __future__ import annotations

import logging
from contextvars import copy_context

import pytest

from orchestrator_core.execute.record import TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_prefect.runs.flow_run import FlowRunInfo
from orchestrator_prefect.runs.promise import Epoch
from orchestrator_prefect.runs.run_record import run_record
from orchestrator_prefect.sending.epoch import Submission
from orchestrator_prefect.sending.flow_graph import flow_graph


def test_its_tasks_start_after_what_submitting_and_planning_took() -> None:
    """The first epoch went 0.6 s after the first submission, at 1000 s of the scheduler's clock."""
    info = FlowRunInfo("pipeline", "f" * 32, copy_context(), logging.getLogger(__name__))
    submissions = [Submission("load-0", "load", "a"), Submission("fit-0", "fit", "b", ("load-0",))]
    epochs = [
        Epoch(flow_graph(submissions[:1]), None, 0.6),
        Epoch(flow_graph(submissions[1:]), None, 3.0),
    ]
    finished = [
        ("b", TaskRecord("", "", "w", "k", 2.5, 4.0)),
        ("a", TaskRecord("", "", "w", "k", 0.1, 2.0)),
    ]
    run = run_record(
        info, submissions, epochs, Cluster([Worker("w", kind="k")]), finished, {}, 1000.0
    )
    assert run.started_at == pytest.approx(999.4)
    assert run.seconds == pytest.approx(4.6)
    assert [(t.task, t.kind, t.start, t.end) for t in run.tasks] == [
        ("load-0", "load", pytest.approx(0.7), pytest.approx(2.6)),
        ("fit-0", "fit", pytest.approx(3.1), pytest.approx(4.6)),
    ]
