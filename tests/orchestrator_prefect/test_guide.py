"""The flow of the guide runs as the guide says: watched, then planned, with its two artifacts."""

from __future__ import annotations

import re
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

import orchestrator_core as oc
from orchestrator_core.execute.record import RunRecord
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.runs.artifacts import outcome_line

from .conftest import Advisor

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
FLOW, STORED, HINTS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def of_the_guide(code: str, module: str) -> dict[str, Any]:
    """What the code defines; its tasks do not sleep."""
    names: dict[str, Any] = {"__name__": module}
    code = re.sub(r"time\.sleep\(.+\)", "pass", code)
    exec(compile(code, f"{module}.py", "exec"), names)
    return names


def told(what: str, runs: list[RunRecord]) -> list[str]:
    """The artifacts of these runs."""
    ids = {run.run_id for run in runs}
    key = f"orchestrator-{what}-pipeline"
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
        )
    ours = [each for each in found if each.flow_run_id and each.flow_run_id.hex in ids]
    return [str(artifact.data) for artifact in ours]


def test_the_first_run_is_watched_and_the_second_planned(cluster: Any, advisor: Advisor) -> None:
    begun = time.time()
    pipeline = of_the_guide(FLOW, "my_flow")["pipeline"]
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=True)
    for _ in range(2):
        assert pipeline.with_options(task_runner=runner)() == ("score of model of data", 28)
    first, second = advisor.runs
    assert begun < first.started_at < second.started_at
    assert (first.mode, second.mode) == ("observed", "planned")
    assert {"train-0", "clean-7"} <= set(first.graph.names)
    line = next(line for line in GUIDE.splitlines() if "tasks on 2 workers" in line).strip()
    start, end = line.split("…")
    assert outcome_line(first).startswith(start)
    assert end.startswith(" s; first run: observed")
    (plan,), outcomes = told("plan", advisor.runs), told("outcome", advisor.runs)
    assert len(outcomes) == 2
    labels = re.findall(r"^\| ([a-z ]+) \|", GUIDE.partition("## 5")[2], re.MULTILINE)
    assert len(labels) == 7
    shown = {*re.findall(r"^\| ([a-z ]+) \|", plan, re.MULTILINE)}
    assert {*labels} - {"it says", "forecast without a plan"} <= shown


def test_the_hints_of_the_guide_are_taken(cluster: Any, advisor: Advisor) -> None:
    names = of_the_guide(HINTS, "my_hints")
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor)
    assert names["quiet"].with_options(task_runner=runner)() == 1
    assert names["the_runner_alone"].with_options(task_runner=runner)() == 1


def test_stored_runs_are_read_as_the_guide_says(
    cluster: Any,
    advisor: Advisor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pipeline = of_the_guide(FLOW, "my_flow")["pipeline"]
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor)
    pipeline.with_options(task_runner=runner)()
    (run,) = advisor.runs
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "runs.db"))
    with closing(oc.ScheduleStore()) as store:
        store.add_run(run)
    capsys.readouterr()
    of_the_guide(STORED, "my_stored")
    assert capsys.readouterr().out.split()[:2] == [run.run_id[:8], "observed"]
