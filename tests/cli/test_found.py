"""RUN on the command line."""

from __future__ import annotations

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
        assert "stored yet" in invoke(*command, "--store", place).err
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
