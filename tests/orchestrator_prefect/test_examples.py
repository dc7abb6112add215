"""The examples, run as a reader would run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core import ScheduleStore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(*command: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.timeout(300)
def test_digits_finds_a_good_model_and_its_run_is_remembered(
    prefect_server: None, tmp_path: Path
) -> None:
    from prefect.settings import PREFECT_API_URL

    database = str(tmp_path / "schedules.db")
    printed = run(
        str(EXAMPLES / "digits.py"),
        folder=tmp_path,
        PREFECT_API_URL=str(PREFECT_API_URL.value()),
        ORCHESTRATOR_DB=database,
    )
    found = re.search(r"best: (.+), (\d+\.\d)% of the test images read right", printed)
    assert found is not None, printed
    assert float(found[2]) >= 97.0
    store = ScheduleStore(database)
    (summary,) = store.runs()
    store.close()
    assert (summary.flow, summary.mode, summary.tasks) == ("digits", "observed", 16)


@pytest.mark.timeout(300)
def test_the_demo_compares_three_runs_and_writes_its_figures(tmp_path: Path) -> None:
    """Time runs ten times faster than in the demo proper, so its ratio says nothing here."""
    run(
        str(EXAMPLES / "demo.py"),
        *("--time-scale", "0.01", "--json", "figures.json", "--folder", "demo"),
        folder=tmp_path,
    )
    figures: dict[str, Any] = json.loads((tmp_path / "figures.json").read_text())
    assert figures["cache"] == "hit"
    assert 0 < figures["lower_bound_s"] <= figures["predicted_s"]
    assert figures["ratio"] == pytest.approx(figures["actual_s"] / figures["stock_s"], abs=1e-3)
    assert figures["observed_s"] > 0
    assert Path(figures["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")
