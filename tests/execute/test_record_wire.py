"""Run records as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator_core.errors import InvalidFormat, InvalidInput
from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from tests.store.records import a_plan, a_run
from tests.strategies import NAMES, clusters, graphs


def test_a_run_survives_json() -> None:
    assert RunRecord.from_json(a_run().to_json()) == a_run()


def test_a_run_without_plan_tasks_and_notes_survives_json() -> None:
    run = a_run(plan=None, tasks=(), notes=(), status="failed")
    assert RunRecord.from_json(run.to_json()) == run


finite = st.floats(allow_nan=False, allow_infinity=False)
records = st.builds(
    TaskRecord,
    task=NAMES,
    kind=NAMES,
    worker=NAMES,
    worker_kind=NAMES,
    start=finite,
    end=finite,
    nbytes=finite,
    transfer_seconds=finite,
    attempt=st.integers(1, 9),
    memory_peak=st.none() | finite,
    status=st.sampled_from(["ok", "failed", "cached"]),
    setup_seconds=finite,
    device_memory=st.none() | finite,
    overhead_seconds=st.none() | finite,
)


@given(
    graphs(),
    clusters(),
    st.lists(records, max_size=4),
    st.booleans(),
    NAMES,
    st.none() | clusters(),
)
def test_any_run_survives_json(
    graph: TaskGraph,
    cluster: Cluster,
    tasks: list[TaskRecord],
    planned: bool,
    flow: str,
    measured: Cluster | None,
) -> None:
    run = a_run(
        graph=graph,
        cluster=cluster,
        tasks=tuple(tasks),
        plan=a_plan() if planned else None,
        flow=flow,
        measured=measured,
    )
    assert RunRecord.from_json(run.to_json()) == run


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_read_as_nan(number: float) -> None:
    record = TaskRecord("a", "a", "w", "any", number, 1.0, number, number)
    (read,) = RunRecord.from_json(a_run(tasks=(record,)).to_json()).tasks
    assert math.isnan(read.start)
    assert math.isnan(read.nbytes)
    assert math.isnan(read.transfer_seconds)
    assert read.end == 1.0


def test_only_names_kinds_sizes_and_times_are_written() -> None:
    """Whoever adds a field thinks about whether it may hold somebody's secret."""
    written = json.loads(a_run().to_json())
    assert " ".join(written) == (
        "format run_id flow started_at seconds mode reason graph cluster graph_signature "
        "cluster_signature plan tasks notes"
    )
    assert " ".join(written["plan"]) == (
        "schedule predicted lower_bound bound_method planner cache adopted reason "
        "default_predicted planning_seconds"
    )
    assert written["tasks"][0] == [
        *("load-1", "load", "w0", "big", 0.0, 1.0, 100.0, 0.0, 1, None, "ok", 0.0, None, None)
    ]


@pytest.mark.parametrize(
    "damage",
    [
        {"format": "orchestrator.run/2"},
        {"run_id": 7},
        {"tasks": [["too", "short"]]},
        {"arguments": {"password": "s3cret"}},
        {"graph": None},
        {"cluster": {"format": "orchestrator.cluster/1", "workers": []}},
        {"plan": {}},
    ],
)
def test_what_is_no_run_is_refused(damage: dict[str, Any]) -> None:
    text = json.dumps(json.loads(a_run().to_json()) | damage)
    with pytest.raises(InvalidInput):
        RunRecord.from_json(text)


def test_a_plan_whose_numbers_no_column_holds_is_refused() -> None:
    damaged = json.loads(a_run().to_json())
    damaged["plan"]["schedule"]["assignments"][0][1] = 2**63
    with pytest.raises(InvalidFormat):
        RunRecord.from_json(json.dumps(damaged))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"null", b"\xff"])
def test_what_is_no_json_of_a_run_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidFormat, match=r"orchestrator\.run/1"):
        RunRecord.from_json(text)


def test_a_run_is_a_line_for_people() -> None:
    run = a_run("c" * 32)
    assert repr(run) == (
        "RunRecord('cccccccc' of 'etl': 2 tasks on 2 workers in 3.10 s, forecast 3.00 s, planned, "
        "ok)"
    )
    assert repr(run.plan) == (
        "PlanRecord(Schedule(2 assignments, makespan 3 s), followed, forecast 3.00 s, "
        "bound 2.00 s, by heft, miss)"
    )
