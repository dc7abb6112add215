"""ScheduleStore takes the exam on SQLite and on Postgres, and shows what is its own."""

from __future__ import annotations

import gc
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from orchestrator_core.errors import StoreError
from orchestrator_core.store import hits, sql
from orchestrator_core.store.location import to_url, without_password
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_core.store.tables import VIEWS
from tests.contracts.store_contract import Make, StoreContract
from tests.store.records import KEY, a_run, stored


class TestSqlite(StoreContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Make:
        return partial(ScheduleStore, tmp_path / "schedules.db")


class TestPostgres(StoreContract):
    @pytest.fixture
    def make(self, postgres_url: str) -> Make:
        return partial(ScheduleStore, postgres_url)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    return f"sqlite:///{tmp_path / 'schedules.db'}"


def test_what_one_store_wrote_another_finds(url: str) -> None:
    first = ScheduleStore(url)
    first.put(stored())
    first.find(KEY)
    first.add_run(a_run())
    first.close()
    second = ScheduleStore(url)
    assert second.run("a") == a_run()
    assert second.schedules()[0].hits == 1
    second.close()


def test_the_views_have_the_documented_columns(url: str) -> None:
    store = ScheduleStore(url)
    store.put(stored(3.0))
    store.add_run(a_run())
    with store._database._open().connect() as connection:
        for view, columns in VIEWS.items():
            result = connection.exec_driver_sql(f"SELECT * FROM {view}")
            assert list(result.keys()) == list(columns)
            assert result.first() is not None
        gap, created = connection.exec_driver_sql("SELECT gap, created_at FROM v_schedules").one()
        assert (gap, created) == (0.5, "1970-01-01 00:16:40")
        ratio, cache = connection.exec_driver_sql("SELECT ratio, cache FROM v_runs").one()
        assert (ratio, cache) == (pytest.approx(3.1 / 3.0), "miss")
        rows = connection.exec_driver_sql("SELECT task, flow, seconds FROM v_tasks ORDER BY task")
        assert [(t, f, pytest.approx(s)) for t, f, s in rows] == [
            ("fit-1", "etl", 1.6),
            ("load-1", "etl", 1.0),
        ]
    store.close()


def test_a_run_that_was_cut_short_has_no_ratio(url: str) -> None:
    """The forecast is for all of its tasks, and not all of them ran."""
    store = ScheduleStore(url)
    store.add_run(replace(a_run(), status="cancelled"))
    with store._database._open().connect() as connection:
        row = connection.exec_driver_sql("SELECT ratio, predicted FROM v_runs").one()
    assert tuple(row) == (None, 3.0)
    store.close()


def test_a_run_that_shared_its_workers_has_no_ratio(url: str) -> None:
    """Forecasts are for one run at a time."""
    store = ScheduleStore(url)
    run = a_run()
    store.add_run(run.beside(run.seconds * sum(worker.threads for worker in run.cluster.workers)))
    with store._database._open().connect() as connection:
        row = connection.exec_driver_sql("SELECT ratio, others FROM v_runs").one()
    assert tuple(row) == (None, 1.0)
    store.close()


def test_making_a_store_touches_nothing(tmp_path: Path) -> None:
    ScheduleStore(tmp_path / "new" / "s.db")
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_who_forgets_to_close_a_store_leaves_no_connection_open(url: str) -> None:
    closed: list[object] = []
    store = ScheduleStore(url)
    store.add_run(a_run())
    engine = store._database._open()
    event.listen(engine, "close", lambda connection, record: closed.append(connection))
    del store, engine
    gc.collect()
    assert closed


def test_the_file_belongs_to_its_user_alone(tmp_path: Path) -> None:
    store = ScheduleStore(tmp_path / "new" / "s.db")
    store.put(stored())
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()}
    assert modes == {0o600}
    store.close()


def test_looking_up_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    store = ScheduleStore(tmp_path / "s.db")
    store.put(stored())
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE schedules SET hits = 50")
    found = store.find(KEY)
    assert found is not None
    assert found.hits == 1
    other.execute("ROLLBACK")
    other.close()
    store.close()


def test_a_shared_row_is_counted_by_everyone(url: str) -> None:
    stores = [ScheduleStore(url) for _ in range(2)]
    stores[0].put(stored())
    for store in stores:
        store.find(KEY)
        store.put(stored(key=replace(KEY, graph_signature="other")))
    assert [s.hits for s in stores[0].schedules(graph_signature="graph")] == [2]
    for store in stores:
        store.close()


def test_the_last_use_is_the_latest_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = [ScheduleStore(tmp_path / "s.db") for _ in range(2)]
    stores[0].put(stored())
    for now, store in zip((2000.0, 1000.0), stores, strict=True):
        monkeypatch.setattr(hits, "time", lambda now=now: now)
        store.find(KEY)
    for store in stores:
        store.close()
    with closing(ScheduleStore(tmp_path / "s.db")) as store:
        (found,) = store.schedules()
    assert (found.hits, found.used_at) == (2, 2000.0)


def test_uses_that_were_rolled_back_are_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ScheduleStore(tmp_path / "s.db")
    store.put(stored())
    store.find(KEY)
    with monkeypatch.context() as patch:
        patch.setattr(sql, "upsert_better", refusing)
        with pytest.raises(StoreError):
            store.put(stored(5.0))
    store.put(stored(4.0))
    with closing(ScheduleStore(tmp_path / "s.db")) as other:
        assert [each.hits for each in other.schedules()] == [1]
    store.close()


def test_uses_while_others_are_written_are_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ScheduleStore(tmp_path / "s.db")
    store.put(stored())
    store.find(KEY)
    real = sql.upsert_better

    def meanwhile(*arguments: Any) -> bool:
        store._hits.note(KEY)
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(sql, "upsert_better", meanwhile)
        store.put(stored(4.0))
    store.close()
    with closing(ScheduleStore(tmp_path / "s.db")) as other:
        assert [each.hits for each in other.schedules()] == [2]


def refusing(*_: object) -> None:
    raise OSError("no space left on device")


WRITER = """
import sys
from dataclasses import replace
from orchestrator_core.store import hits, sql
from orchestrator_core.store.sql import ScheduleStore
from tests.store.records import KEY, a_run, stored
url, me = sys.argv[1], int(sys.argv[2])
store = ScheduleStore(url)
for i in range(50):
    key = replace(KEY, graph_signature=f"shared-{i % 5}")
    store.find(key)
    store.put(stored(100.0 - i - me / 10, key=key))
    store.put(stored(key=replace(KEY, graph_signature=f"mine-{me}-{i}")))
store.close()
"""


def test_four_processes_lose_nothing(url: str) -> None:
    """Each writes 50 schedules of its own and 50 to shared keys; none finds a database there."""
    command = [sys.executable, "-c", WRITER, url]
    writers = [
        subprocess.Popen([*command, str(i)], stderr=subprocess.PIPE, text=True, cwd=_root())
        for i in range(4)
    ]
    errors = [writer.communicate(timeout=60)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0], errors
    store = ScheduleStore(url)
    found = {s.key.graph_signature: s.makespan for s in store.schedules(limit=1000)}
    store.close()
    assert len(found) == 4 * 50 + 5
    assert [found[f"shared-{k}"] for k in range(5)] == [
        pytest.approx(100.0 - (45 + k) - 0.3) for k in range(5)
    ]


def _root() -> Path:
    return Path(__file__).resolve().parents[2]


def test_a_short_password_garbles_no_words() -> None:
    url = to_url("postgresql://me:p@host/db")
    said = without_password("port 1 of postgresql://me:p@host/db does not accept p", url)
    assert said == "port 1 of postgresql://me:***@host/db does not accept ***"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@nowhere.invalid:1/db",
        "postgresql://me@nowhere.invalid:1/db?password=s3cret",
    ],
)
def test_a_password_is_shown_nowhere(url: str, caplog: pytest.LogCaptureFixture) -> None:
    store = ScheduleStore(url)
    with pytest.raises(StoreError, match="nowhere") as caught:
        store.find(KEY)
    shown = f"{store!r} {store.url} {caught.value!r} {caught.value} {caplog.text}"
    assert "s3cret" not in shown
    assert "***" in store.url
    store.close()


@pytest.mark.parametrize("url", ["mysql://host/db", "://", "sqlite://", "sqlite:///:memory:"])
def test_a_location_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match=r"supported|cannot be"):
        ScheduleStore(url)


@pytest.mark.parametrize(
    ("driver", "plain"),
    [
        ("sqlite+aiosqlite", "sqlite:///"),
        ("sqlite+foo", "sqlite:///"),
        ("postgresql+asyncpg", "postgresql://"),
        ("postgres+foo", "postgresql://"),
    ],
)
def test_a_driver_that_is_not_ours_is_refused_with_what_to_write(driver: str, plain: str) -> None:
    said = f"leave out the driver {driver.partition('+')[2]!r}: {plain}"
    with pytest.raises(StoreError, match=re.escape(said)):
        ScheduleStore(f"{driver}://me:s3cret@host/db")


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite+pysqlite:///s.db", "sqlite+pysqlite"),
        ("postgresql+psycopg://me@host/db", "postgresql+psycopg"),
        ("postgres://me@host/db", "postgresql+psycopg"),
    ],
)
def test_our_own_driver_may_be_named(url: str, driver: str) -> None:
    assert to_url(url).drivername == driver
