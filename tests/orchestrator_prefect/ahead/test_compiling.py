"""What has to be compiled first is in the forecast, once for each kind and process; by hand."""

from __future__ import annotations

from typing import Any

import pytest
from prefect import task

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.client import ensure_plugin, fetch_prepared
from orchestrator_core.execute.record import PlanRecord
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.schedule import Assignment, Schedule
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.ahead.compiling import with_compiling

from ..conftest import Advisor


def advice(setup: dict[str, float]) -> Advice:
    """Two trainings of a second on each of two workers, and 1.5 s of something else on the second;
    2 s and 3.5 s."""
    builder = TaskGraph.build()
    for i in range(4):
        builder.task(f"train-{i}", kind="train", seconds=1.0)
    builder.task("other", kind="other", seconds=1.5)
    rows = [Assignment(f"train-{i}", "ab"[i % 2], i // 2, i // 2 + 1.0) for i in range(4)]
    rows.append(Assignment("other", "b", 2.0, 3.5))
    schedule = Schedule(rows)
    plan = PlanRecord(
        schedule, 3.7, 3.0, "area", "heft", "miss", True, "saves 9 %", default_predicted=5.0
    )
    instance = Instance.price(builder.done(), Cluster([Worker("a"), Worker("b")]))
    return Advice(plan, plan.reason, instance=instance, setup=setup)


@pytest.mark.parametrize(
    ("prepared", "added", "words"),
    [
        ({}, 4.0, "4 s of the forecast are for compiling, in 2 worker processes that have not yet"),
        (
            {"a": ["train"]},
            4.0,
            "4 s of the forecast are for compiling, in one worker process that",
        ),
        ({"b": ["train"]}, 2.5, "2.5 s of the forecast are for compiling, in one worker process"),
        ({"a": ["other"], "b": ["other"]}, 4.0, "in 2 worker processes"),
    ],
)
def test_the_first_task_of_a_kind_on_a_fresh_process_takes_longer(
    prepared: dict[str, list[str]], added: float, words: str
) -> None:
    """Where only worker a compiles, it ends after 6 s instead of 2, and the other after 3.5 s."""
    plain = advice({"train": 4.0})
    found = with_compiling(plain, prepared)
    assert plain.plan is not None
    assert found.plan is not None
    assert found.plan.predicted == pytest.approx(3.7 + added)
    assert found.plan.default_predicted == pytest.approx(5.0 + added)
    assert found.plan.reason.startswith("saves 9 %; ")
    assert words in found.plan.reason
    assert found.plan.schedule is plain.plan.schedule
    assert found.plan.lower_bound == 3.0


def test_where_all_is_compiled_nothing_is_said() -> None:
    plain = advice({"train": 4.0})
    assert with_compiling(plain, {"a": ["train"], "b": ["train", "other"]}) is plain
    for setup in ({}, {"unknown": 4.0}, {"train": 0.01}):
        plain = advice(setup)
        assert with_compiling(plain, {}) is plain


@task
def compiles() -> None:
    from orchestrator_core.execute.dask.workers.noting import note

    note(setup_seconds=0.001)


@task
def compiles_not() -> None: ...


class Compiling(Advisor):
    """Plans from the first run on, and knows what has to be compiled."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        rows = [Assignment(name, "0", float(i), i + 1.0) for i, name in enumerate(graph.names)]
        plan = PlanRecord(Schedule(rows), 2.0, 1.0, "area", "fake", "miss", True, "for a test")
        instance = Instance(graph, cluster, [[1.0] * len(cluster)] * len(graph))
        setup = {kind: 7.0 for kind in graph.kinds if "compiles_not" not in kind}
        return Advice(plan, plan.reason, instance=instance, setup=setup)


@pytest.mark.slow
def test_a_run_on_the_same_workers_forecasts_no_compiling_any_more(cluster: Any) -> None:
    advisor = Compiling()

    @optimized_flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False))
    def pipeline() -> None:
        for each in [compiles.submit(), compiles_not.submit()]:
            each.wait()

    pipeline()
    pipeline()
    first, second = (run.plan for run in advisor.runs)
    assert first is not None
    assert second is not None
    assert first.predicted >= 9.0
    assert "7 s of the forecast are for compiling, in one worker process that" in first.reason
    assert "compiling" not in second.reason
    tasks = sorted(advisor.runs[0].tasks, key=lambda each: each.task)
    assert [each.setup_seconds > 0 for each in tasks] == [True, False]
    (kinds,) = (set(each) for each in prepared(cluster).values() if tasks[0].kind in each)
    assert tasks[1].kind not in kinds


def prepared(cluster: Any) -> dict[str, list[str]]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        ensure_plugin(client)
        found: dict[str, list[str]] = fetch_prepared(client)
        return found
