"""The flow of the guide runs as the guide says: watched, then planned, with its two artifacts."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from orchestrator_core.execute.record import RunRecord
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.runs.artifacts import outcome_line

from .conftest import Advisor

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
FLOW, HINTS = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


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
