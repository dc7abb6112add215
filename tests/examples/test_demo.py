"""The demo, with a Prefect server and worker processes of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.examples.running import run


@pytest.mark.timeout(600)
def test_the_demo_compares_three_runs_and_writes_its_figures(tmp_path: Path) -> None:
    """Time runs ten times faster than in the demo proper, so its ratio says nothing here.

    It plans for longer: where a busy machine leaves no time for more than a first list schedule,
    the flow rightly plans again instead of taking that from its store.
    """
    options = ("--time-scale", "0.01", "--planning-seconds", "10")
    run("demo.py", *options, "--json", "demo.json", "--folder", "demo", folder=tmp_path)
    figures: dict[str, Any] = json.loads((tmp_path / "demo.json").read_text())
    assert figures["cache"] == "hit", figures
    assert 0 < figures["lower_bound_s"] <= figures["predicted_s"]
    assert figures["ratio"] == pytest.approx(figures["actual_s"] / figures["stock_s"], abs=1e-3)
    assert figures["observed_s"] > 0
    assert Path(figures["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")
