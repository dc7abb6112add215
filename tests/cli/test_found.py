"""RUN on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator_core.cli.found import find_run
from orchestrator_core.errors import UnknownRun
from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import Invoke, a_run


@pytest.fixture
def filled(store: ScheduleStore) -> ScheduleStore:
    for i, name in enumerate(("a1", "b2", "c3")):
        store.add_run(a_run(name * 16, flow="mine" if i < 2 else "other", started_at=1.0 + i))
    return store


@pytest.mark.parametrize(
    ("asked", "flow", "found"),
    [
        ("a1" * 16, None, "a1"),
        ("b2b", None, "b2"),
        ("last", None, "c3"),
        ("last~1", None, "b2"),
        ("last", "mine", "b2"),
        ("last~1", "mine", "a1"),
    ],
)
def test_a_run_is_found(filled: ScheduleStore, asked: str, flow: str | None, found: str) -> None:
    assert find_run(filled, asked, flow).run_id == found * 16


@pytest.mark.parametrize(
    ("asked", "flow", "message"),
    [
        ("a1a2", None, r"no run 'a1a2' is stored.*near it: a1a1a1a1 \(mine,"),
        ("othr", None, r"no run 'othr' is stored.*near it: c3c3c3c3 \(other,"),
        ("last~9", "mine", "only 2 runs of 'mine' are stored"),
        ("last", "nobody's", 'no run of "nobody\'s" is stored yet'),
    ],
)
def test_an_unknown_run_names_those_that_are_near(
    filled: ScheduleStore, asked: str, flow: str | None, message: str
) -> None:
    with pytest.raises(UnknownRun, match=message):
        find_run(filled, asked, flow)


@pytest.mark.parametrize(
    "command",
    [
        ("runs",),
        ("schedules",),
        ("report", "last"),
        ("trace", "last"),
        ("why", "last", "load"),
        ("whatif", "last", "--memory", "2x"),
        ("diff", "last~1", "last"),
    ],
)
def test_commands_that_read_begin_no_database(
    invoke: Invoke, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Neither where a name is mistyped, nor in a file that is empty."""
    empty = tmp_path / "empty.db"
    empty.touch()
    for place in (tmp_path / "mistyped" / "s.db", empty):
        said = invoke(*command, "--store", place).err
        assert "stored yet" in said
        assert f"{place}, where no database is" in said
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"]
    assert empty.stat().st_size == 0


@pytest.mark.parametrize(
    ("name", "reason"),
    [("", "the name of the database is empty"), (".", "is a folder; name a file")],
)
def test_a_name_that_is_no_files_is_told(invoke: Invoke, name: str, reason: str) -> None:
    told = invoke("runs", "--store", name)
    assert told.code == 1
    assert reason in told.err


@pytest.mark.parametrize("run", ["nothing", "last~9"])
def test_who_finds_no_run_is_told_in_which_database(
    invoke: Invoke, filled: ScheduleStore, database: Path, run: str
) -> None:
    assert invoke("report", run).err.endswith(f"[looked in {database}]\n")


@pytest.fixture
def alike(store: ScheduleStore) -> ScheduleStore:
    """Two flows of one name."""
    for i, project in enumerate(("sales", "staff")):
        run = a_run(f"{i}" * 32, flow="etl", tasks=(f"load-{project}",), started_at=1.0 + i)
        store.add_run(replace(run, origin=f"{project}/etl.py:etl"))
    return store


def test_flows_of_one_name_are_listed_with_their_origins(
    invoke: Invoke, alike: ScheduleStore
) -> None:
    listed = invoke("runs").out
    assert "etl (sales/etl.py:etl)" in listed
    assert "etl (staff/etl.py:etl)" in listed
    (row,) = invoke("runs", "--flow", "sales/etl.py:etl").out.splitlines()[1:]
    assert row.split()[:2] == ["0" * 8, "etl"]


def test_the_last_run_of_a_name_that_is_shared_says_whose_it_is(
    invoke: Invoke, alike: ScheduleStore, tmp_path: Path
) -> None:
    page = tmp_path / "r.html"
    told = invoke("report", "last", "--flow", "etl", "-o", page)
    assert (told.code, told.err) == (
        0,
        "several flows are called 'etl'; this is a run of staff/etl.py:etl: "
        "choose with --flow, such as --flow sales/etl.py:etl\n",
    )
    assert "staff/etl.py:etl" in page.read_text(encoding="utf-8")
    chosen = invoke("why", "last", "load", "--flow", "sales/etl.py:etl")
    assert (chosen.code, chosen.err) == (0, "")
    assert "load-sales" in chosen.out


def test_runs_of_two_flows_of_one_name_are_not_compared(
    invoke: Invoke, alike: ScheduleStore
) -> None:
    refused = invoke("diff", "last~1", "last")
    assert refused.code == 1
    assert "of flow 'etl' (sales/etl.py:etl)" in refused.err
    assert invoke("diff", "last~1", "last", "--anyway").code == 0
