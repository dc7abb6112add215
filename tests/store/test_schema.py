"""The database's version: created, upgraded, refused; tables and migrations say the same."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from orchestrator_core.errors import SchemaMismatch, StoreError
from orchestrator_core.store import schema
from orchestrator_core.store.codec import pack
from orchestrator_core.store.engine import open_engine
from orchestrator_core.store.location import default_url, sqlite_path, to_url
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_core.store.tables import VIEWS, metadata
from tests.store.records import KEY, a_run, stored

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    return f"sqlite:///{tmp_path / 'new' / 'schedules.db'}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = open_engine(to_url(url))
    yield engine
    engine.dispose()


def names_in(engine: Engine) -> set[str]:
    found = inspect(engine)
    return {*found.get_table_names(), *found.get_view_names()}


EVERYTHING = {*metadata.tables, *VIEWS, "alembic_version"}


def test_the_revisions_named_in_the_code_are_those_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(schema.migrations_dir()))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    found = [script.revision for script in scripts.walk_revisions()][::-1]
    assert tuple(found) == schema.REVISIONS
    assert scripts.get_heads() == [schema.HEAD]


def test_a_migration_never_imports_the_live_tables() -> None:
    for path in (schema.migrations_dir() / "versions").glob("*.py"):
        assert "orchestrator_core" not in path.read_text(encoding="utf-8")


def test_the_tables_are_what_the_migrations_make(url: str, engine: Engine) -> None:
    schema.upgrade(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []


def test_up_down_and_up_again(url: str, engine: Engine) -> None:
    assert f"none -> {schema.HEAD}" in schema.upgrade(url)
    assert names_in(engine) == EVERYTHING
    schema.upgrade(url, "base")
    assert names_in(engine) == {"alembic_version"}
    schema.upgrade(url)
    assert names_in(engine) == EVERYTHING
    assert "already" in schema.upgrade(url)


def test_a_database_from_before_findings_keeps_its_rows(url: str, engine: Engine) -> None:
    schema.upgrade(url, "0001")
    assert "findings" not in names_in(engine)
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO cost_models (name, updated_at, body) VALUES ('a', 1.0, :body)"),
            {"body": pack(b"kept")},
        )
    assert f"0001 -> {schema.HEAD}" in schema.upgrade(url)
    store = ScheduleStore(url)
    assert store.costs("a") == b"kept"
    assert store.findings() == []
    store.close()


def test_task_records_from_before_setup_was_known_have_none(url: str, engine: Engine) -> None:
    schema.upgrade(url, "0002")
    columns = "run_id, flow, started_at, seconds, mode, reason, status, graph_signature"
    with engine.begin() as connection:
        connection.execute(
            text(
                f"INSERT INTO runs ({columns}, cluster_signature, cache, adopted, tasks, body) "
                "VALUES ('r', 'f', 1.0, 2.0, 'observed', '', 'ok', 'g', 'c', '', :no, 1, :body)"
            ),
            {"body": b"", "no": False},
        )
        connection.execute(
            text(
                "INSERT INTO task_records (id, run_id, task, kind, worker, worker_kind, "
                "start_seconds, end_seconds, attempt, status, teaches) "
                "VALUES (1, 'r', 't-0', 't', 'w', 'k', 1.0, 3.5, 1, 'ok', :yes)"
            ),
            {"yes": True},
        )
    schema.upgrade(url)
    store = ScheduleStore(url)
    (learned,) = store.observations(["t"])
    assert (learned.seconds, learned.device_memory) == (2.5, None)
    assert learned.overhead_seconds is None
    store.close()
    with engine.connect() as connection:
        known = "seconds, setup_seconds, overhead_seconds"
        row = connection.execute(text(f"SELECT {known} FROM v_tasks")).one()
    assert tuple(row) == (2.5, 0.0, None)
    schema.upgrade(url, "0002")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT seconds FROM v_tasks")).scalar() == 2.5


def test_runs_from_before_origins_were_known_have_none(url: str, engine: Engine) -> None:
    store = ScheduleStore(url)
    store.add_run(a_run("1"))
    store.add_run(a_run("2", origin="sales/etl.py:etl"))
    store.close()
    schema.upgrade(url, "0004")
    assert "origin" not in {column["name"] for column in inspect(engine).get_columns("v_runs")}
    schema.upgrade(url)
    store = ScheduleStore(url)
    assert [store.run(run_id) for run_id in "12"] == [a_run("1"), a_run("2")]
    store.close()


def test_runs_from_before_others_were_known_were_alone(url: str, engine: Engine) -> None:
    store = ScheduleStore(url)
    store.add_run(replace(a_run(), others=1e9))
    store.close()
    schema.upgrade(url, "0007")
    with engine.connect() as connection:
        assert connection.execute(text("SELECT ratio FROM v_runs")).scalar() is not None
    schema.upgrade(url)
    store = ScheduleStore(url)
    assert [line.others for line in store.runs()] == [0.0]
    store.close()


def test_a_new_database_is_made_at_the_first_use(url: str, engine: Engine) -> None:
    if (path := sqlite_path(to_url(url))) is not None:
        path.parent.mkdir()
    store = ScheduleStore(url)
    store.put(stored())
    assert names_in(engine) == EVERYTHING
    store.close()


def test_a_newer_database_is_refused_with_the_command_to_type(url: str, engine: Engine) -> None:
    schema.upgrade(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    store = ScheduleStore(url)
    with pytest.raises(SchemaMismatch, match=r"0999.*install the newest version of this"):
        store.find(KEY)
    with pytest.raises(SchemaMismatch, match="0999"):
        schema.upgrade(url)
    store.close()


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From now on a later revision exists, so that every database made before is behind."""
    folder = tmp_path / "migrations"
    (folder / "versions").mkdir(parents=True)
    for path in schema.migrations_dir().glob("**/*.py"):
        copy = folder / path.relative_to(schema.migrations_dir())
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "versions" / "9999_more.py").write_text(
        "import sqlalchemy as sa\n"
        "from alembic import op\n"
        f"revision, down_revision = '9999', '{schema.HEAD}'\n"
        "def upgrade():\n"
        "    with op.batch_alter_table('cost_models') as table:\n"
        "        table.add_column(sa.Column('more', sa.Text))\n"
        "def downgrade():\n"
        "    with op.batch_alter_table('cost_models') as table:\n"
        "        table.drop_column('more')\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(schema, "migrations_dir", lambda: folder)
    monkeypatch.setattr(schema, "REVISIONS", (*schema.REVISIONS, "9999"))
    monkeypatch.setattr(schema, "HEAD", "9999")


def test_an_older_sqlite_file_is_upgraded_by_itself_and_keeps_its_rows(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "s.db"
    store = ScheduleStore(path)
    store.add_run(a_run())
    store.close()
    request.getfixturevalue("older")
    store = ScheduleStore(path)
    assert store.run("a") == a_run()
    store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [
            ("9999",)
        ]
    connection.close()


def test_an_older_postgres_is_refused_with_the_command_to_type(
    postgres_url: str, request: pytest.FixtureRequest
) -> None:
    schema.upgrade(postgres_url)
    request.getfixturevalue("older")
    store = ScheduleStore(postgres_url)
    with pytest.raises(SchemaMismatch, match=r"000.*orchestrator db upgrade --db 'postgresql"):
        store.find(KEY)
    schema.upgrade(postgres_url, "9999")
    assert store.find(KEY) is None
    store.close()


def test_a_failed_upgrade_leaves_no_trace(
    tmp_path: Path, older: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = schema.migrations_dir() / "versions" / "9999_more.py"
    broken = script.read_text(encoding="utf-8").replace("'cost_models'", "'no_such_table'")
    script.write_text(broken, encoding="utf-8")
    path = tmp_path / "s.db"
    with pytest.raises(StoreError, match="cannot be upgraded"):
        schema.upgrade(path, "9999")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()


UPGRADE = (
    "import sys; from orchestrator_core.store.schema import upgrade; print(upgrade(sys.argv[1]))"
)


def test_two_processes_that_start_at_once_upgrade_once(url: str, engine: Engine) -> None:
    starts = [
        subprocess.Popen([sys.executable, "-c", UPGRADE, url], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = sorted(start.communicate(timeout=60)[0].strip() for start in starts)
    assert [start.returncode for start in starts] == [0, 0]
    assert said[0].endswith(f"is at revision {schema.HEAD} already")
    assert said[1].endswith(f"none -> {schema.HEAD}")
    assert names_in(engine) == EVERYTHING


def test_an_upgrade_that_cannot_be_done_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(StoreError, match=r"s\.db cannot be upgraded"):
        schema.upgrade(tmp_path / "file" / "s.db")
    (tmp_path / "text.db").write_text("no database at all, just a text\n" * 50, encoding="utf-8")
    with pytest.raises(StoreError, match="not a database"):
        schema.upgrade(tmp_path / "text.db")


def test_the_environment_says_where_the_database_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "mine.db"))
    assert default_url().database == str(tmp_path / "mine.db")
    monkeypatch.setenv("ORCHESTRATOR_DB", "postgresql://me@host/db")
    assert default_url().drivername == "postgresql+psycopg"
    monkeypatch.delenv("ORCHESTRATOR_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_url().database == os.path.join(tmp_path, "orchestrator", "schedules.db")


@pytest.mark.parametrize("path", ["s.db", "~/s.db", "a b/100%/s.db", "größe?.db"])
def test_a_plain_path_is_taken_as_it_is(path: str) -> None:
    url = to_url(path)
    assert sqlite_path(url) == Path(path).expanduser().absolute()
