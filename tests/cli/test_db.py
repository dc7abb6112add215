"""`orchestrator db`."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from orchestrator_core.store.schema import HEAD, upgrade
from tests.cli.conftest import Invoke


def set_revision(path: Path, revision: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    connection.commit()
    connection.close()


def test_path_says_where_it_is_and_makes_nothing(invoke: Invoke, database: Path) -> None:
    assert invoke("db", "path").out == f"{database}\n"
    assert json.loads(invoke("db", "path", "--json").out)["path"] == str(database)
    assert not database.exists()


def test_path_hides_a_password(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_DB", "postgresql://me:secret@host/plans")
    shown = invoke("db", "path")
    assert "host/plans" in shown.out
    assert "secret" not in shown.out + shown.err


def test_upgrade_makes_it_once(invoke: Invoke, database: Path) -> None:
    assert f"none -> {HEAD}" in invoke("db", "upgrade").out
    assert database.stat().st_mode & 0o777 == 0o600
    again = json.loads(invoke("db", "upgrade", "--db", database, "--json").out)
    assert again["revision"] == HEAD
    assert "already" in again["done"]


@pytest.mark.parametrize(
    "url",
    ["mysql://host/x", "nonsense://", "sqlite://", "sqlite+foo:////x.db", "postgresql+foo://h/x"],
)
def test_a_database_that_cannot_be_is_an_error(invoke: Invoke, url: str) -> None:
    failed = invoke("db", "upgrade", "--db", url)
    assert failed.code == 1
    assert failed.err.startswith("error: ")
    assert "bug" not in failed.err


def test_check_is_content_with_a_missing_and_a_new_one(invoke: Invoke, database: Path) -> None:
    missing = invoke("db", "check")
    assert missing.code == 0
    assert "is not there yet" in missing.out
    assert not database.exists()
    invoke("db", "upgrade")
    found = json.loads(invoke("db", "check", "--json").out)
    assert found["ok"] is True
    assert [check["verdict"] for check in found["checks"]] == ["good", "good"]


def test_check_finds_a_database_of_a_newer_version(invoke: Invoke, database: Path) -> None:
    invoke("db", "upgrade")
    set_revision(database, "9999")
    failed = invoke("db", "check")
    assert failed.code == 1
    assert "does not fit this version" in failed.out
    assert "install the newest version of this package" in failed.out
    listing = invoke("runs")
    assert listing.code == 1
    assert "9999" in listing.err


def test_check_finds_a_database_that_others_may_read(invoke: Invoke, database: Path) -> None:
    invoke("db", "upgrade")
    database.chmod(0o644)
    failed = invoke("db", "check")
    assert failed.code == 1
    assert f"chmod 600 {database}" in failed.out


def test_check_finds_a_file_that_is_no_database(invoke: Invoke, database: Path) -> None:
    database.parent.mkdir()
    database.write_bytes(b"a letter to my aunt" * 100)
    database.chmod(0o600)
    failed = invoke("db", "check")
    assert failed.code == 1
    assert "cannot be read" in failed.out
    assert database.read_bytes().startswith(b"a letter"), "a check changes nothing"


def test_the_rights_of_what_is_no_database_are_left_alone(invoke: Invoke, database: Path) -> None:
    """Who names a file of the system by mistake would shut all others out of it."""
    database.parent.mkdir()
    database.write_bytes(b"root:x:0:0::/root:/bin/sh")
    database.chmod(0o644)
    for file in (database, Path(os.devnull)):
        assert "chmod" not in invoke("db", "check", "--db", file).out


def test_the_mend_of_rights_can_be_typed(invoke: Invoke, tmp_path: Path) -> None:
    old = tmp_path / "old of mine.db"
    invoke("db", "upgrade", "--db", old)
    old.chmod(0o644)
    checks = json.loads(invoke("db", "check", "--store", old, "--json").out)["checks"]
    assert checks[1]["mend"] == f"type: chmod 600 '{old}'"


def test_check_takes_odd_paths(invoke: Invoke, tmp_path: Path) -> None:
    odd = tmp_path / "50% of #1? yes.db"
    assert invoke("db", "upgrade", "--db", odd).code == 0
    assert invoke("db", "check", "--db", odd).code == 0


def test_an_older_database_is_upgraded_where_it_was_looked_at(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Without its name, the command would upgrade the default one."""
    old = tmp_path / "old of mine.db"
    upgrade(old, "0002")
    checks = json.loads(invoke("db", "check", "--store", old, "--json").out)["checks"]
    assert checks[0]["mend"] == f"type: orchestrator db upgrade --db '{old}'"


def test_a_folder_is_no_database_whose_rights_are_to_be_mended(
    invoke: Invoke, tmp_path: Path
) -> None:
    told = invoke("db", "check", "--db", tmp_path)
    assert told.code == 1
    assert "is a folder" in told.out
    assert "chmod" not in told.out
