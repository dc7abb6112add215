"""Commands load what they need: nobody waits for a planner, or for Prefect, to see a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator_core.store.sql import ScheduleStore
from tests.cli.conftest import a_run
from tests.report.runs import wide_run

PLANNERS = {"numba", "scipy", "ortools"}
ELSEWHERE = {
    "prefect",
    "prefect_dask",
    "distributed",
    "dask",
    "jax",
    "psycopg",
    "alembic",
    "pandas",
}

LOADED = """
import json, sys
from orchestrator_core.cli.app import run
code = run(sys.argv[1:])
print("\\n" + json.dumps([code, sorted({name.split(".")[0] for name in sys.modules})]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a database of four runs, the last of them with a plan, and a flow."""
    folder = tmp_path_factory.mktemp("light")
    store = ScheduleStore(folder / "s.db")
    store.add_run(replace(wide_run(10_000, 16), run_id="1" * 32, started_at=1.0))
    for number in (2, 3):
        store.add_run(a_run(str(number) * 32, planned=False, started_at=float(number)))
    store.add_run(a_run("4" * 32, started_at=4.0))
    store.close()
    (folder / "flow.py").write_text(
        "from prefect import flow\n@flow\ndef pipeline(): ...", encoding="utf-8"
    )
    return folder


def loaded(folder: Path, *words: str) -> set[str]:
    command = [sys.executable, "-c", LOADED, *words]
    environment = {**os.environ, "ORCHESTRATOR_DB": str(folder / "s.db")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


@pytest.mark.parametrize(
    "words",
    [
        "runs",
        "schedules",
        "report 1111 -o r.html",
        "trace 4444 -o t.json",
        "diff 2222 3333",
        "why 3333 fit",
        "db path",
    ],
)
def test_what_was_recorded_is_shown_without_planners(folder: Path, words: str) -> None:
    assert not (PLANNERS | ELSEWHERE) & loaded(folder, *words.split())


def test_the_report_of_ten_thousand_tasks_has_less_than_two_megabytes(folder: Path) -> None:
    loaded(folder, "report", "1111", "-o", "large.html")
    assert 100_000 < (folder / "large.html").stat().st_size < 2_000_000


@pytest.mark.parametrize(
    "words", ["plan flow.py:pipeline", "why 4444 fit", "whatif 4444 --add fast:1"]
)
def test_who_plans_needs_no_cluster_and_no_flow(folder: Path, words: str) -> None:
    assert not ELSEWHERE & loaded(folder, *words.split())
