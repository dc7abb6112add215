"""`orchestrator schedules`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.store.base import ScheduleKey, StoredSchedule
from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke

KEYS = {
    "graph_signature",
    "cluster_signature",
    "objective",
    "cost_bucket",
    "flow",
    "tasks",
    "workers",
    "makespan_s",
    "lower_bound_s",
    "bound_method",
    "gap",
    "planner",
    "hits",
    "created_at",
    "used_at",
}


def stored(graph: str = "abcdef1234", flow: str = "pipeline") -> StoredSchedule:
    return StoredSchedule(
        key=ScheduleKey(graph, "c" * 64, "makespan", "bucket"),
        schedule=Schedule([Assignment("0", "0", 0.0, 5.0), Assignment("1", "1", 5.0, 11.0)]),
        makespan=11.0,
        lower_bound=10.0,
        bound_method="critical path",
        prices="0" * 64,
        planner="heft",
        created_at=1000.0,
        used_at=1000.0,
        flow=flow,
    )


def test_an_empty_cache_is_a_sentence_or_an_empty_list(invoke: Invoke, database: Path) -> None:
    said = invoke("schedules", "--flow", "x").err
    assert said == f"no schedules for 'x' are stored yet in {database}, where no database is\n"
    assert json.loads(invoke("schedules", "--json").out) == []


def test_a_row_says_how_good_it_is_and_how_often_it_helped(
    invoke: Invoke, store: ScheduleStore
) -> None:
    store.put(stored())
    store.find(stored().key)
    store.put(stored("other"))
    row = next(line for line in invoke("schedules").out.splitlines() if "abcdef12" in line)
    for cell in ("pipeline", "11.00 s", "10.00 s", "10.0 %", "heft", " 1 "):
        assert cell in row
    assert "abcdef123" not in row


def test_json_has_its_keys(invoke: Invoke, store: ScheduleStore) -> None:
    store.put(stored())
    store.put(stored("other", flow="another"))
    (entry,) = json.loads(invoke("schedules", "--flow", "pipeline", "--json").out)
    assert set(entry) == KEYS
    assert entry["gap"] == pytest.approx(0.1)
    assert (entry["tasks"], entry["workers"]) == (2, 2)
