"""`orchestrator runs`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run

KEYS = {
    "run_id",
    "flow",
    "started_at",
    "seconds",
    "mode",
    "predicted",
    "lower_bound",
    "cache",
    "status",
    "tasks",
    "graph_signature",
    "error",
    "origin",
    "others",
}


def test_no_runs_is_a_sentence_with_the_place_or_an_empty_list(
    invoke: Invoke, database: Path
) -> None:
    nothing = invoke("runs")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == f"no runs are stored yet in {database}, where no database is\n"
    assert json.loads(invoke("runs", "--json").out) == []


def test_promise_and_outcome_stand_in_one_row(invoke: Invoke, store: ScheduleStore) -> None:
    """Promised 3 s, took 3.3 s: 10 % longer."""
    store.add_run(a_run())
    row = invoke("runs").out.splitlines()[1]
    for cell in ("aaaaaaaa", "pipeline", "planned", "3.00 s", "3.30 s", "+10.0 %", "hit", "ok"):
        assert cell in row


def test_the_newest_comes_first_and_the_rest_is_cut(invoke: Invoke, store: ScheduleStore) -> None:
    for i in range(5):
        store.add_run(a_run(f"{i}" * 32, started_at=1000.0 + i))
    found = json.loads(invoke("runs", "--limit", "2", "--json").out)
    assert [run["run_id"][0] for run in found] == ["4", "3"]


def test_json_has_its_keys_and_an_unplanned_run_has_no_error(
    invoke: Invoke, store: ScheduleStore
) -> None:
    store.add_run(a_run("1" * 32, flow="other"))
    store.add_run(a_run("2" * 32, planned=False))
    (run,) = json.loads(invoke("runs", "--flow", "pipeline", "--json").out)
    assert set(run) == KEYS
    assert (run["mode"], run["predicted"], run["error"]) == ("observed", None, None)


def test_a_run_that_was_cancelled_says_nothing_of_its_forecast(
    invoke: Invoke, store: ScheduleStore
) -> None:
    store.add_run(replace(a_run(), status="cancelled"))
    (run,) = json.loads(invoke("runs", "--json").out)
    assert (run["predicted"], run["error"]) == (3.0, None)


def test_a_run_in_which_no_task_ended_says_nothing_of_its_forecast(
    invoke: Invoke, store: ScheduleStore
) -> None:
    """A flow that did not wait for its tasks took 0 s, and was called 100 % too early."""
    store.add_run(replace(a_run(seconds=0.0), tasks=()))
    (run,) = json.loads(invoke("runs", "--json").out)
    assert (run["tasks"], run["error"]) == (0, None)


def test_a_run_that_shared_its_workers_says_what_others_had(
    invoke: Invoke, store: ScheduleStore
) -> None:
    """Its forecast was for a run by itself; a run is alone as long as others had next to none."""
    threads = sum(worker.threads for worker in a_run().cluster.workers)
    store.add_run(a_run("1" * 32, seconds=10.0).beside(4.0 * threads))
    store.add_run(a_run("2" * 32, seconds=10.0).beside(0.4 * threads))
    told = invoke("runs").out
    assert "others 40%" in told
    assert "+233.3 %" in told
    found = {run["run_id"][0]: run for run in json.loads(invoke("runs", "--json").out)}
    assert (found["1"]["others"], found["1"]["error"]) == (pytest.approx(0.4), None)
    assert (found["2"]["others"], found["2"]["error"]) == (
        pytest.approx(0.04),
        pytest.approx(7 / 3),
    )


def test_hostile_names_are_only_text(invoke: Invoke, store: ScheduleStore) -> None:
    store.add_run(a_run(flow="\x1b[31m[red]x[/red]<b>\x07"))
    shown = invoke("runs").out
    assert "[31m[red]x[/red]<b>" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown
