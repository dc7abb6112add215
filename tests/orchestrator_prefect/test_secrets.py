"""Secrets that pass through a flow are nowhere in what is remembered, shown or logged of it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dask
import pytest
from prefect import flow, get_run_logger, tags, task, unmapped
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.variables import Variable
from pydantic import SecretStr

from orchestrator_core.execute.record import RunRecord
from orchestrator_core.report import render
from orchestrator_core.report.trace import write_trace
from orchestrator_core.store.codec import DamagedBlob, unpack
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow

from .conftest import Advisor
from .listening import listening

ROOT = Path(__file__).parents[2]

OURS = tuple(f"{ROOT / name}/" for name in ("orchestrator_core", "orchestrator_prefect"))

NAMES = (
    *("flow_argument", "nested", "listed", "bytes", "attribute", "hidden", "argument", "keyword"),
    *("default", "mapped", "unmapped", "environment", "environment_in_task", "client_keyword"),
    *("secret_block", "secret_block_in_task", "variable", "returned", "logged", "printed"),
    *("task_error", "chained_error", "retried_error", "flow_error", "flow_tag", "task_tag"),
    *("tags_around", "run_name", "flow_run_name", "description", "flow_description", "version"),
    *("annotation", "cache_key"),
)
CANARIES = {name: f"canary-{i:02d}-q7x9{i * 7919:06d}" for i, name in enumerate(NAMES)}


class Keeping(Advisor):
    """Plans as in all these tests, and keeps its runs in a database."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.store = ScheduleStore(path)

    def record(self, run: RunRecord) -> None:
        super().record(run)
        self.store.add_run(run)


class Holder:
    """An argument that keeps a secret to itself."""

    def __init__(self, secret: str) -> None:
        self.secret = secret


def body_with(found: list[str]) -> Any:
    """A flow's body through which all of them pass; it fails if it is told so."""

    @task(
        tags={CANARIES["task_tag"]},
        task_run_name=CANARIES["run_name"] + "-{x}",
        description=CANARIES["description"],
        version=CANARIES["version"],
        cache_key_fn=lambda context, arguments: CANARIES["cache_key"] + str(arguments["x"]),
    )
    def using(x: Any, key: str = "", more: str = CANARIES["default"]) -> str:
        import os

        get_run_logger().info(CANARIES["logged"])
        os.environ["CANARY_IN_TASK"] = CANARIES["environment_in_task"]
        Secret.load("canary-in-task").get()  # type: ignore[union-attr]
        return CANARIES["returned"]

    @task(retries=1)
    def failing(again: list[int]) -> None:
        again.append(1)
        try:
            raise KeyError(CANARIES["chained_error"])
        except KeyError as error:
            raise ValueError(CANARIES["task_error"] + CANARIES["retried_error"]) from error

    def body(secret: str, nested: dict[str, Any], fails: bool) -> None:
        found.append(str(Secret.load("canary").get()))  # type: ignore[union-attr]
        found.append(str(Variable.get("canary_variable")))
        with tags(CANARIES["tags_around"]), dask.annotate(note=CANARIES["annotation"]):
            futures = [
                using.submit(CANARIES["argument"], key=CANARIES["keyword"]),
                using.submit(nested),
                using.submit(Holder(CANARIES["attribute"])),
                *using.map([CANARIES["mapped"]], key=unmapped(CANARIES["unmapped"])),
            ]
        found.extend(future.result() for future in futures)
        failing.submit([]).wait()
        print(CANARIES["printed"])
        if fails:
            raise RuntimeError(CANARIES["flow_error"] + secret)

    return body


@pytest.fixture
def ours() -> Iterator[list[str]]:
    """All that code of this project logs, at whatever level."""
    lines: list[str] = []
    form = logging.Formatter()

    def note(record: logging.LogRecord) -> None:
        if record.pathname.startswith(OURS):
            lines.append(form.format(record))

    names = ("orchestrator", "orchestrator_core", "orchestrator_prefect", "prefect")
    with listening((*names, "prefect.flow_runs"), note, logging.DEBUG):
        yield lines


def everything_in(path: Path) -> Iterator[bytes]:
    """The database's files as they lie on the disk, and each of their packed texts unpacked."""
    for part in path.parent.glob(f"{path.name}*"):
        yield part.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in names:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    yield str(value).encode()
                    if isinstance(value, bytes):
                        try:
                            yield unpack(value)
                        except DamagedBlob:
                            continue


def artifacts() -> Iterator[bytes]:
    with get_client(sync_client=True) as client:
        for artifact in client.read_artifacts(limit=200):
            if (artifact.key or "").startswith("orchestrator-"):
                yield f"{artifact.key}{artifact.description}{artifact.data}".encode()


def test_thirty_secrets_and_none_is_found(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: list[str]
) -> None:
    assert len(CANARIES) >= 30
    monkeypatch.setenv("CANARY", CANARIES["environment"])
    Secret(value=CANARIES["secret_block"]).save("canary", overwrite=True)
    Secret(value=CANARIES["secret_block_in_task"]).save("canary-in-task", overwrite=True)
    Variable.set("canary_variable", CANARIES["variable"], overwrite=True)
    advisor, passed = Keeping(tmp_path / "s.db"), []
    runner = OptimizedTaskRunner(
        cluster=cluster, advisor=advisor, client_kwargs={"name": CANARIES["client_keyword"]}
    )
    made = flow(
        task_runner=runner,
        name="secrets",
        description=CANARIES["flow_description"],
        flow_run_name=CANARIES["flow_run_name"],
        log_prints=True,
        validate_parameters=False,
    )(body_with(passed))
    nested = {
        "nested": CANARIES["nested"],
        "listed": [CANARIES["listed"]],
        "bytes": CANARIES["bytes"].encode(),
        "hidden": SecretStr(CANARIES["hidden"]),
    }
    with tags(CANARIES["flow_tag"]):
        for fails in (False, False, True):
            try:
                made(CANARIES["flow_argument"], nested, fails)
            except RuntimeError as error:
                passed.append(str(error))
    assert {CANARIES["secret_block"], CANARIES["variable"], CANARIES["returned"]} <= set(passed)
    assert CANARIES["flow_error"] in passed[-1]
    assert [(run.mode, run.status) for run in advisor.runs] == [
        ("observed", "ok"),
        ("planned", "ok"),
        ("planned", "failed"),
    ]
    written = write_trace(advisor.runs[-1], tmp_path / "t.json").read_bytes()
    pages = [render(run).encode() for run in advisor.runs]
    places = {
        "database": list(everything_in(tmp_path / "s.db")),
        "report": pages,
        "trace": [written],
        "artifacts": list(artifacts()),
        "log": [line.encode() for line in ours],
    }
    for place, texts in places.items():
        assert any(b"secrets" in text or b"tasks on 2 workers" in text for text in texts), place
        leaked = [n for n, canary in CANARIES.items() for t in texts if canary.encode() in t]
        assert leaked == [], place
    advisor.store.close()


def test_the_password_of_a_database_that_does_not_answer_is_not_told(
    cluster: Any, ours: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    @task
    def one() -> int:
        return 1

    url = "postgresql://user:canary-password@127.0.0.1:1/none?sslpassword=canary-query"

    @optimized_flow(cluster=cluster, store=url, name="no database")
    def lonely() -> int:
        return one.submit().result()

    assert lonely() == 1
    told = [line for line in ours if "127.0.0.1" in line]
    assert len(told) == 1
    assert "user:***@127.0.0.1" in told[0]
    printed = "".join(capfd.readouterr())
    for place in (*ours, printed, *(text.decode() for text in artifacts())):
        assert "canary" not in place
