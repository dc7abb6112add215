"""`orchestrator trace`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_trace_is_written_and_named(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path
) -> None:
    store.add_run(a_run())
    shown = invoke("trace", "last")
    written = tmp_path / "orchestrator-aaaaaaaa.trace.json"
    assert shown.out.splitlines()[0] == str(written)
    named = {event["name"] for event in json.loads(written.read_bytes())["traceEvents"]}
    assert {"load", "fit", "running", "planned"} <= named


def test_json_says_where_it_is(invoke: Invoke, store: ScheduleStore, tmp_path: Path) -> None:
    store.add_run(a_run())
    told = json.loads(invoke("trace", "aaaa", "-o", "t.json", "--json").out)
    assert told == {"run_id": "a" * 32, "flow": "pipeline", "trace": str(tmp_path / "t.json")}


def test_a_trace_may_be_replaced_but_other_files_are_not_touched(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path
) -> None:
    store.add_run(a_run())
    precious = tmp_path / "data.json"
    precious.write_text('{"years": "of work"}')
    refused = invoke("trace", "last", "-o", precious)
    assert refused.code == 1
    assert "is no trace; give another name, or --force" in refused.err
    assert "years" in precious.read_text()
    assert invoke("trace", "last", "-o", precious, "--force").code == 0
    assert invoke("trace", "last", "-o", precious).code == 0


@pytest.mark.parametrize("command", ["trace", "report"])
def test_stdout_is_no_place_for_it(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path, command: str
) -> None:
    store.add_run(a_run())
    refused = invoke(command, "last", "-o", "-")
    assert refused.code == 1
    assert f"a {command} goes into a file, not to stdout; give a name" in refused.err
    assert not (tmp_path / "-").exists()
