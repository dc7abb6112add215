"""Commands load what they need: nobody waits for a planner, or for Prefect, to see a table."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator_core.cli.app import run
from orchestrator_core.origin import place_of
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
for words in json.loads(sys.argv[1]):
    code = run(words.split())
    modules = {".".join(name.split(".")[:depth]) for name in sys.modules for depth in (1, 2)}
    print("\\n" + json.dumps([words, code, sorted(modules)]))
"""

SHOWING = (
    "runs",
    "schedules",
    "report 1111 -o r.html",
    "trace 4444 -o t.json",
    "diff 2222 3333",
    "why 3333 fit",
    "db path",
    "plan flow.py:pipeline --json",
)

PLANNING = ("plan flow.py:pipeline --seconds 0.1", "why 4444 fit", "whatif 4444 --add fast:1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a database of four runs, the last of them with a plan, and a flow."""
    folder = tmp_path_factory.mktemp("light")
    store = ScheduleStore(folder / "s.db")
    store.add_run(replace(wide_run(10_000, 16), run_id="1" * 32, started_at=1.0))
    for number in (2, 3):
        store.add_run(a_run(str(number) * 32, planned=False, started_at=float(number)))
    origin = f"{place_of(str(folder / 'flow.py'))}:pipeline"
    store.add_run(replace(a_run("4" * 32, started_at=4.0), origin=origin))
    store.close()
    (folder / "flow.py").write_text(
        "from prefect import flow\n@flow\ndef pipeline(): ...", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def answers(folder: Path) -> list[dict[str, object]]:
    """Of a flow that is planned in this process: once made, once from the store."""
    found = []
    for _ in range(2):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            words = ["plan", f"{folder / 'flow.py'}:pipeline", "--store", str(folder / "s.db")]
            assert run([*words, "--json"]) == 0
        found.append(json.loads(out.getvalue()))
    return found


def loaded(folder: Path, commands: Sequence[str]) -> tuple[dict[str, set[str]], str]:
    """What one process had loaded once each of the commands was through; and what it printed."""
    command = [sys.executable, "-c", LOADED, json.dumps(commands)]
    environment = {**os.environ, "ORCHESTRATOR_DB": str(folder / "s.db")}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    assert [(words, code) for words, code, _ in lines] == [(words, 0) for words in commands]
    return {words: set(modules) for words, _, modules in lines}, done.stdout


@pytest.fixture(scope="module")
def showing(folder: Path, answers: object) -> tuple[dict[str, set[str]], str]:
    return loaded(folder, SHOWING)


@pytest.mark.parametrize("words", SHOWING)
def test_what_is_known_is_shown_without_planners(
    showing: tuple[dict[str, set[str]], str], words: str
) -> None:
    """One after the other in one process: the first that loads them is the one to blame."""
    modules, _ = showing
    assert not (PLANNERS | ELSEWHERE) & modules[words]


def test_a_plan_that_is_known_is_what_planners_made_of_it(
    showing: tuple[dict[str, set[str]], str], answers: list[dict[str, object]]
) -> None:
    made, recalled = answers
    _, text = showing
    told = json.loads(text[text.index("\n{") : text.rindex("}") + 1])
    assert (made["cache"], recalled["cache"]) == ("miss", "hit")
    assert told | {"seconds": 0} == recalled | {"seconds": 0}
    assert told["assignments"] == made["assignments"]
    assert told["predicted_s"] == made["predicted_s"]


def test_the_report_of_ten_thousand_tasks_has_less_than_two_megabytes(
    folder: Path, showing: object
) -> None:
    assert 100_000 < (folder / "r.html").stat().st_size < 2_000_000


def test_who_plans_needs_no_cluster_and_no_flow(folder: Path) -> None:
    modules, _ = loaded(folder, PLANNING)
    for words in PLANNING:
        assert not ELSEWHERE & modules[words], words
    assert "numba" in modules[PLANNING[0]], "it did plan"
    assert "scipy.linalg" not in modules[PLANNING[0]], "numba looks for its BLAS there"
