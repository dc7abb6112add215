"""`orchestrator plan` of a flow that never ran, as its user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator_core.cli.app import run
from orchestrator_core.cli.python_module import load_module
from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.signature import cluster_signature, graph_signature
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_prefect.sending.flow_graph import flow_graph
from orchestrator_prefect.tracing.asked import trace_flow
from orchestrator_prefect.tracing.trace import trace

SOURCE = """
import itertools, os, pathlib
from prefect import task
from orchestrator_prefect import optimized_flow

print("imported")

@task
def load(i):
    pathlib.Path("canary").touch()

@task(name="<script>alert(1)</script>[red]\\x1b[31m'; DROP TABLE runs; --")
def train(x):
    pathlib.Path("canary").touch()

@optimized_flow(estimates={"load": "4s ± 1s"})
def pipeline(n: int = 2):
    print("n is", n)
    return train.submit(load.map(range(n))).result()

@optimized_flow(deadline="1min", cluster_kwargs={"n_workers": 3, "threads_per_worker": 1})
def dated():
    return load.map(range(3))

@optimized_flow
def needs(n):
    return load.map(range(n))

@optimized_flow
def endless():
    return load.map(list(itertools.count()))

@optimized_flow
def careless():
    try:
        pathlib.Path("canary").write_text("x")
    except BaseException:
        os.system("touch canary")
    finally:
        load.submit(1)
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of flows, where we are; the database and Prefect's home are somewhere else."""
    here = tmp_path / "here"
    here.mkdir()
    path = here / "flows.py"
    path.write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setenv("ORCHESTRATOR_DB", str(tmp_path / "data" / "schedules.db"))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    return path


@pytest.fixture
def plan(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["plan", *arguments])
        return code, *capfd.readouterr()

    return call


def test_it_is_planned_and_said_that_nobody_saw_it(plan: Any, source: Path, tmp_path: Path) -> None:
    """Loads of 4 s, and a task of which nobody knows anything, on workers of speed 2 and 1."""
    workers = ["-w", "fast:speed=2", "-w", "slow"]
    code, out, err = plan("flows.py:pipeline", "--param", "n=3", *workers, "--json")
    assert (code, err) == (0, "imported\n")
    found = json.loads(out)
    assert found["name"] == "pipeline"
    assert found["tasks"] == 4
    # Two loads on the fast worker beside one on the slow one, then the guess of 1 s at speed 1.
    assert found["makespan_s"] == pytest.approx(4.5, abs=0.01)
    traced, guessed = found["notes"]
    assert "traced, not seen" in traced
    assert "of 2 kinds of task, 1 never ran" in guessed
    assert "1 s is a guess" in guessed
    assert sorted(each.name for each in source.parent.iterdir()) == ["flows.py"]
    # To import Prefect makes this folder.
    assert list((tmp_path / "home").iterdir()) == []


def test_it_has_the_workers_and_the_deadline_of_its_decorator(plan: Any, source: Path) -> None:
    """Three loads of 1 s, a guess, at a time."""
    code, out, _ = plan("flows.py:dated", "--json")
    assert code == 0
    found = json.loads(out)
    assert [worker["threads"] for worker in found["workers"]] == [1, 1, 1]
    assert found["makespan_s"] == pytest.approx(1.0, abs=0.01)
    assert "workers as its decorator says; say others with --workers" in found["notes"]
    assert "the deadline of 60.00 s is kept with" in found["notes"][-1]


def test_what_other_flows_taught_is_used(plan: Any, source: Path) -> None:
    """Runs of another flow took 3 s for a load and 6 s for a training on a worker of speed 1."""
    flow = load_module("flows.py", "").pipeline
    graph = flow_graph(trace(flow, {"n": 1}).submissions)
    cluster = Cluster([Worker("only", kind="box")])
    store = ScheduleStore(None)
    store.add_run(_record(graph, cluster))
    store.close()
    _, out, _ = plan("flows.py:pipeline", "--param", "n=2", "--json")
    found = json.loads(out)
    assert found["makespan_s"] == pytest.approx(3 + 3 + 6, rel=0.05)
    assert [each["name"] for each in found["workers"]] == ["only"]
    assert not any("guess" in note for note in found["notes"])
    assert any("of flow 'another' had them" in note for note in found["notes"])


def _record(graph: TaskGraph, cluster: Cluster) -> RunRecord:
    kinds = [task.kind for task in graph.tasks()]
    tasks = (
        TaskRecord(graph.names[0], kinds[0], "only", "box", 0.0, 3.0),
        TaskRecord(graph.names[1], kinds[1], "only", "box", 3.0, 9.0),
    )
    return RunRecord(
        run_id="a" * 32,
        flow="another",
        started_at=1_000.0,
        seconds=9.0,
        mode="observed",
        reason="observed",
        graph=graph,
        cluster=cluster,
        graph_signature=graph_signature(graph).digest,
        cluster_signature=cluster_signature(cluster).digest,
        plan=None,
        tasks=tasks,
    )


def test_what_cannot_be_followed_is_one_line_and_nothing_happens(plan: Any, source: Path) -> None:
    code, out, err = plan("flows.py:careless")
    assert (code, out) == (1, "")
    message = err.splitlines()[-1]
    assert "'careless' cannot be followed: flows.py:" in message
    assert "It has not finished a run yet, either" in message
    number = SOURCE[: SOURCE.index("write_text")].count("\n") + 1
    written = 'pathlib.Path("canary").write_text("x")'
    assert f"flows.py:{number}: `{written}`: writes a file" in message
    assert not Path("canary").exists()


CALLED = """
import asyncio
from prefect import flow, task

@task
def load(i): ...

@flow
def pipeline(): return load.submit(1)

@flow
async def later(): return load.submit(1)

"""


@pytest.mark.parametrize("target", ["flows.py:pipeline", "flows.py"])
@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("pipeline()", "flow 'pipeline'"),
        ("asyncio.run(later())", "flow 'later'"),
        ("load(1)", "task 'load'"),
        ("load.delay(1)", "task 'load'"),
        ('pipeline.serve("nightly")', "flow 'pipeline'"),
    ],
)
def test_a_file_that_calls_its_flow_does_not_run_it(
    plan: Any, source: Path, target: str, call: str, what: str
) -> None:
    """Scripts that end with a call of their flow run it when they are imported, named or not."""
    source.write_text(f"{CALLED}{call}\n")
    number = CALLED.count("\n") + 1
    code, out, err = plan(target)
    assert (code, out) == (1, "")
    told = f"flows.py:{number}: `{call}`: importing the file would run {what}; put that under"
    assert told in err.splitlines()[-1]


def test_a_task_is_called_a_task(plan: Any, source: Path) -> None:
    code, _, err = plan("flows.py:load")
    assert code == 1
    told = "'load' is a task in flows.py; flows there: pipeline, dated, needs, endless, careless"
    assert err.splitlines()[-1].startswith(f"error: {told}")
    assert "run it once" not in err
    source.write_text("from prefect import task\n\n@task\ndef load(i): ...\n")
    code, _, err = plan("flows.py:load")
    assert code == 1
    assert err.splitlines()[-1].startswith("error: 'load' is a task in flows.py; flows there: none")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], r"missing a required argument: 'n'; give them as --param NAME=VALUE"),
        (["--param", "m=3"], "missing a required argument: 'n'; give them"),
        (["--param", "n=3", "--param", "m=3"], "got an unexpected keyword argument 'm'; give"),
    ],
)
def test_parameters_that_do_not_fit_are_said_in_few_words(
    plan: Any, source: Path, given: list[str], why: str
) -> None:
    code, _, err = plan("flows.py:needs", *given)
    assert code == 1
    assert f"cannot be followed: parameters of flow 'needs': {why}" in err
    assert "signature" not in err


def test_a_call_that_does_not_come_back_is_ended(source: Path) -> None:
    with pytest.raises(InvalidInput, match="one call in it was still going after 1 s"):
        trace_flow("flows.py", "endless", {}, seconds=0.5)
