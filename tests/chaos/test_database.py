"""The database of the default advisor is broken in every way, before the run and during it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core.execute.dask import OrchestratorPlugin
from tests.chaos.ledger import Ledger
from tests.chaos.play import PLAIN
from tests.chaos.rig import Rig
from tests.chaos.stories import AFTER, computed
from tests.chaos.workload import make_jobs

pytestmark = pytest.mark.chaos

Breaking = Callable[[Path], object]


def gone(file: Path) -> None:
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()


def folder_gone(file: Path) -> None:
    file.parent.rename(file.parent.with_name("elsewhere"))


def garbage(file: Path) -> None:
    file.write_bytes(os.urandom(20_000))


def truncated(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 3 if file.exists() else 0)


def a_folder_instead(file: Path) -> None:
    gone(file)
    file.mkdir()


def read_only(file: Path) -> None:
    """Permissions do not stop root, so the file says it itself: a header of a later format."""
    with file.open("r+b") as database:
        database.seek(18)
        database.write(b"\x09\x09")


def locked(file: Path) -> sqlite3.Connection:
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    return other


def tables_gone(file: Path) -> None:
    with sqlite3.connect(file) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (name,) in found.fetchall():
            if not name.startswith("sqlite_"):
                database.execute(f'DROP TABLE "{name}"')
    database.close()


BREAKINGS: tuple[Breaking, ...] = (
    gone, folder_gone, garbage, truncated, a_folder_instead, read_only, locked, tables_gone,
)  # fmt: skip


async def three_runs(rig: Rig, strike: Callable[[], object] | None = None) -> Any:
    """The first run teaches, the second is struck in its middle, the third comes after."""
    first = await computed(rig)
    await rig.until(lambda: not rig.scheduler.tasks)
    jobs = make_jobs()
    futures = rig.start(jobs)
    await rig.watcher.done(sum(rig.watcher.finished.values()) + AFTER)
    kept = strike() if strike is not None else None
    second = await rig.numbers(futures, jobs)
    del futures
    await rig.until(lambda: not rig.scheduler.tasks)
    third = await computed(rig)
    if isinstance(kept, sqlite3.Connection):
        kept.close()
    return first, second, third


def making(file: Path) -> Any:
    def make(mode: str) -> OrchestratorPlugin | None:
        return None if mode == PLAIN else OrchestratorPlugin(str(file), mode=mode, min_tasks=2)

    return make


@pytest.mark.parametrize("mode", ["observe", "director"])
@pytest.mark.parametrize("breaking", BREAKINGS, ids=lambda breaking: breaking.__name__)
def test_a_database_that_breaks(
    ledger: Ledger, tmp_path: Path, breaking: Breaking, mode: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    file = folder / "runs.db"
    ledger.judge(
        f"database: {breaking.__name__}",
        lambda rig: three_runs(rig, lambda: breaking(file)),
        mode,
        plain=three_runs,
        baseline="three runs",
        make=making(file),
    )


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://nobody@127.0.0.1:1/none", "sqlite:////proc/none/x.db", "nosuch://url"],
)
def test_a_database_that_cannot_be_reached(ledger: Ledger, url: str) -> None:
    def make(mode: str) -> OrchestratorPlugin | None:
        return None if mode == PLAIN else OrchestratorPlugin(url, mode="director", min_tasks=2)

    name = f"database: {url.partition(':')[0]}, no such"
    ledger.judge(name, three_runs, "director", make=make, baseline="three runs")
