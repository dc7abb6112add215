"""What cannot be planned or remembered runs all the same, as plain prefect-dask, with one word."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect import flow, task
from prefect_dask import DaskTaskRunner

from orchestrator_core.orchestrate.decider import Decider
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.sending.link import DaskLink

from .conftest import Advisor
from .listening import listening


@task
def add(x: Any, y: int = 1) -> int:
    return int(x) + y


@task
def takes(anything: Any) -> str:
    return type(anything).__name__


def two_epochs() -> int:
    """Two bursts of tasks: 1 + 1 + 1, then that plus one of each of three."""
    first = add.submit(add.submit(1)).result()
    return sum(future.result() for future in add.map([first] * 3))


EXPECTED = 12

LOGGERS = ("", "prefect.flow_runs", "orchestrator", "orchestrator_core")


@pytest.fixture
def warned() -> Iterator[list[str]]:
    """Every warning, from the flow run's logger and from ours, each once."""
    said: dict[int, logging.LogRecord] = {}
    messages: list[str] = []

    def note(record: logging.LogRecord) -> None:
        if id(record) not in said and not record.name.startswith("distributed"):
            said[id(record)] = record
            messages.append(record.getMessage())

    with listening(LOGGERS, note, logging.WARNING):
        yield messages


# arguments that cannot travel


@pytest.mark.parametrize("kind", ["stock", "ours"])
def test_an_argument_that_cannot_travel_is_refused_where_it_is_submitted(
    cluster: Any, advisor: Advisor, warned: list[str], kind: str
) -> None:
    """The same error at the same place, and what is submitted before and after it runs."""
    runner: DaskTaskRunner = (
        DaskTaskRunner(address=cluster.scheduler_address)
        if kind == "stock"
        else OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    )
    met: list[BaseException] = []

    @flow(task_runner=runner)
    def body() -> int:
        before = add.submit(1)
        try:
            takes.submit(threading.Lock())
        except Exception as error:
            met.append(error)
        return before.result() + add.submit(before).result()

    for _ in range(2):
        assert body() == 5
    assert [type(error) for error in met] == [TypeError] * 2
    assert all("serialize" in str(error) for error in met)
    assert warned == []
    if kind == "ours":
        assert [run.mode for run in advisor.runs] == ["observed", "planned"]
        assert [len(run.tasks) for run in advisor.runs] == [2, 2]


# planning that fails


def test_planning_that_fails_in_every_epoch_is_told_once(
    cluster: Any, tmp_path: Path, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> Any:
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(Decider, "decide", broken)
    made = optimized_flow(cluster=cluster, store=tmp_path / "s.db", report=False)(two_epochs)
    assert made() == EXPECTED
    (warning,) = warned
    assert "planning failed; the run goes on unplanned" in warning
    store = ScheduleStore(tmp_path / "s.db")
    (line,) = store.runs()
    assert (line.mode, line.tasks) == ("observed", 5)
    store.close()


def test_a_plan_of_nonsense_leaves_the_run_to_dask(
    cluster: Any, advisor: Advisor, warned: list[str]
) -> None:
    """It names tasks and workers that nobody has."""
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    made = flow(task_runner=runner)(two_epochs)
    made()
    advisor.worker = "nobody"
    assert made() == EXPECTED
    assert len(warned) <= 1


# a store that is gone


def deleted(path: Path) -> str:
    store = ScheduleStore(path)
    store.runs()
    store.close()
    path.unlink()
    return str(path)


def folder_deleted(path: Path) -> str:
    return str(path.parent / "gone" / "deeper" / "s.db")


def corrupt(path: Path) -> str:
    path.write_bytes(b"SQLite format 3\0" + b"nonsense" * 4000)
    return str(path)


def a_folder(path: Path) -> str:
    path.mkdir()
    return str(path)


def in_a_file(path: Path) -> str:
    path.write_text("no folder")
    return str(path / "s.db")


def read_only(path: Path) -> str:
    store = ScheduleStore(path)
    store.runs()
    store.close()
    return f"sqlite:///file:{path}?mode=ro&uri=true"


def newer(path: Path) -> str:
    store = ScheduleStore(path)
    store.runs()
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'ffff'")
    return str(path)


def unreachable(path: Path) -> str:
    return "postgresql://user:secret@127.0.0.1:1/none"


def no_url(path: Path) -> str:
    return "mysql://somewhere/else"


HEALED: tuple[Callable[[Path], str], ...] = (deleted, folder_deleted, corrupt)
GONE: tuple[Callable[[Path], str], ...] = (
    a_folder,
    in_a_file,
    read_only,
    newer,
    unreachable,
    no_url,
)


@pytest.mark.parametrize("how", HEALED)
def test_a_store_that_can_be_made_again_is_made_again(
    cluster: Any, tmp_path: Path, warned: list[str], how: Callable[[Path], str]
) -> None:
    url = how(tmp_path / "s.db")
    made = optimized_flow(cluster=cluster, store=url, report=False)(two_epochs)
    assert made() == EXPECTED
    said = ["was damaged: it is now s.db.corrupt-"] if how is corrupt else []
    assert len(warned) == len(said)
    assert all(text in warning for text, warning in zip(said, warned, strict=True))
    store = ScheduleStore(url)
    assert [line.tasks for line in store.runs()] == [5]
    store.close()


@pytest.mark.parametrize("how", GONE)
def test_a_store_that_is_gone_costs_one_warning(
    cluster: Any, tmp_path: Path, warned: list[str], how: Callable[[Path], str]
) -> None:
    url = how(tmp_path / "s.db")
    made = optimized_flow(cluster=cluster, store=url, report=False)(two_epochs)
    assert made() == EXPECTED
    (warning,) = warned
    assert "secret" not in warning


def test_a_store_that_another_process_locks_costs_one_warning(
    cluster: Any, tmp_path: Path, warned: list[str]
) -> None:
    path = tmp_path / "s.db"
    store = ScheduleStore(path)
    store.runs()
    store.close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    made = optimized_flow(cluster=cluster, store=str(path), report=False)(two_epochs)
    assert made() == EXPECTED
    (warning,) = warned
    assert "locked" in warning
    holder.close()


# a server that is old


@pytest.fixture
def without_artifacts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Prefect's server as one whose API has no artifacts; the paths that were asked for."""
    asked: list[str] = []
    now, later = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request

    def missing(request: httpx.Request) -> httpx.Response | None:
        if "/artifacts" not in request.url.path:
            return None
        asked.append(request.url.path)
        return httpx.Response(404, json={"detail": "Not Found"}, request=request)

    def handle(self: Any, request: httpx.Request) -> httpx.Response:
        return missing(request) or now(self, request)

    async def handle_async(self: Any, request: httpx.Request) -> httpx.Response:
        return missing(request) or await later(self, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle_async)
    return asked


def test_a_server_that_knows_no_artifacts_costs_one_warning_a_run(
    cluster: Any, advisor: Advisor, warned: list[str], without_artifacts: list[str]
) -> None:
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=True)
    made = flow(task_runner=runner)(two_epochs)
    assert made() == EXPECTED
    assert len(warned) == 1
    assert made() == EXPECTED
    assert len(warned) == 2
    assert all("could not be published as an artifact" in line for line in warned)
    assert len(without_artifacts) == 3, "an outcome of each, and a plan of the second"
    assert [run.mode for run in advisor.runs] == ["observed", "planned"]


# a scheduler that is old


def test_a_scheduler_whose_plugin_knows_less_costs_one_warning(
    cluster: Any, advisor: Advisor, warned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer lacks what this version reads from it."""

    def older(self: DaskLink, *arguments: Any) -> float:
        raise KeyError("started_at")

    monkeypatch.setattr(DaskLink, "begin", older)
    made = flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False))(
        two_epochs
    )
    assert made() == EXPECTED
    (warning,) = warned
    assert "so this run is plain Dask" in warning
    assert advisor.runs == []
