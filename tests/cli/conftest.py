"""A command line that talks to a database of its own, and small runs to fill it with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator_core.cli.app import run
from orchestrator_core.execute.record import PlanRecord, RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_core.store.sql import ScheduleStore

CLUSTER = Cluster([Worker("w0", kind="fast", speed=2.0), Worker("w1", kind="slow")])


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Invoke = Callable[..., Outcome]


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the database of this test is; nothing else of the user's is touched."""
    path = tmp_path / "data" / "schedules.db"
    monkeypatch.setenv("ORCHESTRATOR_DB", str(path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return path


@pytest.fixture
def invoke(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Invoke:
    """Runs a command line in this process."""
    monkeypatch.setenv("COLUMNS", "150")
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)

    def call(*arguments: str | Path) -> Outcome:
        forget_prefects_terminal()
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return call


def forget_prefects_terminal() -> None:
    """Prefect logs to the terminal of the test in which it was loaded, which is closed by now."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if type(handler).__module__.startswith("prefect."):
            root.removeHandler(handler)


@pytest.fixture
def store(database: Path) -> Iterator[ScheduleStore]:
    opened = ScheduleStore(database)
    yield opened
    opened.close()


def a_run(
    run_id: str = "a" * 32,
    *,
    flow: str = "pipeline",
    tasks: tuple[str, ...] = ("load", "fit"),
    planned: bool = True,
    started_at: float = 1_000.0,
    seconds: float = 3.3,
    status: str = "ok",
) -> RunRecord:
    """A chain of tasks, all on `w0`, 1.5 s each as planned; `seconds` is what it took."""
    builder = TaskGraph.build()
    for i, name in enumerate(tasks):
        builder.task(name, kind=f"kind-{name}", seconds=3.0, after=tasks[i - 1 : i] if i else ())
    records = tuple(
        TaskRecord(name, f"kind-{name}", "w0", "fast", 1.6 * i, 1.6 * i + 1.6)
        for i, name in enumerate(tasks)
    )
    rows = [Assignment(name, "w0", 1.5 * i, 1.5 * i + 1.5) for i, name in enumerate(tasks)]
    promise = PlanRecord(
        schedule=Schedule(rows),
        predicted=1.5 * len(tasks),
        lower_bound=1.5 * len(tasks),
        bound_method="critical path",
        planner="heft",
        cache="hit",
        adopted=True,
        reason="planned",
    )
    return RunRecord(
        run_id=run_id,
        flow=flow,
        started_at=started_at,
        seconds=seconds,
        mode="planned" if planned else "observed",
        reason="a test",
        graph=builder.done(),
        cluster=CLUSTER,
        graph_signature="g" * 64,
        cluster_signature="c" * 64,
        plan=promise if planned else None,
        tasks=records,
        status=status,
    )
