"""`orchestrator report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("asked", ["a" * 32, "aaaa", "last"])
def test_a_run_is_found_by_id_beginning_or_as_the_last(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path, asked: str
) -> None:
    store.add_run(a_run("b" * 32, started_at=1.0))
    store.add_run(a_run("a" * 32, started_at=2.0))
    written = tmp_path / "orchestrator-aaaaaaaa.html"
    assert invoke("report", asked).out == f"{written.as_uri()}\n"
    assert "pipeline" in written.read_text(encoding="utf-8")


def test_the_last_run_of_a_flow(invoke: Invoke, store: ScheduleStore, tmp_path: Path) -> None:
    store.add_run(a_run("b" * 32, flow="mine", started_at=1.0))
    store.add_run(a_run("a" * 32, flow="other", started_at=2.0))
    done = json.loads(invoke("report", "last", "--flow", "mine", "--json").out)
    assert done["run_id"] == "b" * 32
    assert Path(done["report"]).is_file()


@pytest.mark.parametrize(
    ("asked", "message"),
    [("c", "no run 'c' is stored"), ("a", "2 runs begin with 'a'"), ("", "no run '' is stored")],
)
def test_an_unknown_or_ambiguous_run_is_named(
    invoke: Invoke, store: ScheduleStore, asked: str, message: str
) -> None:
    store.add_run(a_run("a1" * 16))
    store.add_run(a_run("a2" * 16))
    failed = invoke("report", asked)
    assert (failed.code, failed.out) == (1, "")
    assert message in failed.err


def test_no_last_run(invoke: Invoke) -> None:
    failed = invoke("report", "last")
    assert failed.code == 1
    assert "no run is stored yet; run a flow" in failed.err


def test_a_report_may_be_replaced_but_other_files_are_not_touched(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path
) -> None:
    store.add_run(a_run())
    precious = tmp_path / "thesis.html"
    precious.write_text("<!doctype html><p>years of work", encoding="utf-8")
    refused = invoke("report", "last", "-o", precious)
    assert refused.code == 1
    assert "is no report; give another name, or --force" in refused.err
    assert precious.read_text(encoding="utf-8").endswith("years of work")
    assert invoke("report", "last", "-o", precious, "--force").code == 0
    assert invoke("report", "last", "-o", precious).code == 0


def test_a_place_that_cannot_be_written_is_named(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path
) -> None:
    store.add_run(a_run())
    assert "is a folder" in invoke("report", "last", "-o", tmp_path).err
    failed = invoke("report", "last", "-o", tmp_path / "missing" / "r.html")
    assert failed.code == 1
    assert "there is no folder" in failed.err


def test_hostile_names_do_not_become_html(
    invoke: Invoke, store: ScheduleStore, tmp_path: Path
) -> None:
    store.add_run(a_run(flow="<script>alert(1)</script>", tasks=("</script><b>", "[red]x")))
    shown = invoke("report", "last", "-o", tmp_path / "r.html")
    assert shown.code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "</script><b>" not in page
