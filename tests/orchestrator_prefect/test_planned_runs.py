"""Runs are watched, planned, carried out so, and written down; failures cost the plan only."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Scheduler
from prefect import flow, task
from prefect.cache_policies import INPUTS
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect_dask.task_runners import PrefectDaskFuture

from orchestrator_core.errors import InvalidCluster
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.runs.artifacts import seconds
from orchestrator_prefect.sending.flow_graph import kind_of
from orchestrator_prefect.sending.futures import PlannedFuture
from orchestrator_prefect.sending.link import DaskLink

from .conftest import Advisor
from .listening import listening


@task
def load(size: int) -> bytes:
    return b"x" * size


@task
def join(*parts: bytes) -> int:
    return sum(len(part) for part in parts)


@task
def fails() -> None:
    raise ValueError("wrong")


@task(cache_policy=INPUTS, persist_result=True)
def remembered(x: int) -> int:
    return x


def pipeline() -> int:
    return join.submit(*[load.submit(1_000_000) for _ in range(3)], load.submit(10)).result()


def run_with(
    cluster: Any, advisor: Advisor, body: Any = pipeline, times: int = 1, **options: Any
) -> list[RunRecord]:
    options = {"report": False, **options}
    made = flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, **options))(body)
    for _ in range(times):
        made()
    return advisor.runs


@pytest.fixture
def said() -> Iterator[list[logging.LogRecord]]:
    """What the flow runs' logger says, from INFO on."""
    records: list[logging.LogRecord] = []
    with listening(["prefect.flow_runs"], records.append):
        yield records


def warnings_in(said: list[logging.LogRecord]) -> list[str]:
    return [record.getMessage() for record in said if record.levelno >= logging.WARNING]


def test_a_run_is_written_down(cluster: Any, advisor: Advisor) -> None:
    (run,) = run_with(cluster, advisor)
    assert run.flow == "pipeline"
    assert (run.mode, run.status, run.plan) == ("observed", "ok", None)
    assert run.reason == "first run: observed"
    assert len(run.run_id) == 32
    assert run.graph.names == ("load-0", "load-1", "load-2", "load-3", "join-0")
    assert [(e.producer, e.consumer) for e in run.graph.edges()] == [
        (f"load-{i}", "join-0") for i in range(4)
    ]
    assert run.graph.kind(0) == kind_of(load)
    assert run.origin.endswith("test_planned_runs.py:pipeline")
    assert {worker.name for worker in run.cluster.workers} == {"0", "1"}
    assert {record.task for record in run.tasks} == set(run.graph.names)
    assert all(0 < record.seconds <= run.seconds for record in run.tasks)
    last = run.tasks[-1]
    assert last.task == "join-0"
    assert all(record.end <= last.start for record in run.tasks[:-1])


def test_dask_learns_how_large_the_results_are(cluster: Any, advisor: Advisor) -> None:
    (run,) = run_with(cluster, advisor)
    sizes = {record.task: record.nbytes for record in run.tasks}
    assert 1_000_000 < sizes["load-0"] < 1_010_000
    assert sizes["load-3"] < 10_000


def sized(rows: int, name: str, parts: list[int]) -> int:
    return join.submit(load.submit(rows), b"x" * len(parts)).result()


def test_how_large_arguments_are_is_written_down_and_told_where_no_run_had_the_like(
    cluster: Any, tmp_path: Path, said: list[logging.LogRecord]
) -> None:
    """Of text nothing, and of numbers two digits."""
    store = ScheduleStore(tmp_path / "s.db")
    made = optimized_flow(cluster=cluster, store=str(tmp_path / "s.db"), report=False)(sized)
    made(1234, "secret", [1, 2, 3])
    made(123_400, "secret", [1, 2, 3])
    graph = store.run(store.runs()[0].run_id).graph
    of_flow = {"rows (flow sized)": 120_000.0, "parts (flow sized)": 3.0}
    assert dict(graph.features(0)) == {"size": 120_000.0, **of_flow}
    assert dict(graph.features(1)) == {"parts": 2.0, **of_flow}
    observed = store.observations(graph.kinds[:1])
    assert [each.features["size"] for each in observed] == [120_000.0, 1200.0]
    store.close()
    told = [each.getMessage() for each in said if "nothing learned yet" in each.getMessage()]
    assert told == [
        "nothing learned yet with rows (flow sized) = 120,000, only with 1,200: "
        "foretold as of those"
    ]


class Cautious(Advisor):
    """Knows nothing like it of any epoch."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        return replace(super().advise(graph, cluster, flow), caveat="100% of it is new")


def test_what_no_run_was_like_is_told_once_however_often_a_loop_submits(
    cluster: Any, said: list[logging.LogRecord]
) -> None:
    def loop() -> None:
        for size in range(1, 4):
            load.submit(size).wait()

    advisor = Cautious()
    run_with(cluster, advisor, loop)
    assert len(advisor.asked) == 3
    assert [each.getMessage() for each in said].count("100% of it is new") == 1


def test_nothing_of_arguments_is_noted_where_that_is_not_wanted(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_ARGUMENT_SIZES", "no")
    store = ScheduleStore(tmp_path / "s.db")
    optimized_flow(cluster=cluster, store=str(tmp_path / "s.db"), report=False)(sized)(9, "a", [1])
    graph = store.run(store.runs()[0].run_id).graph
    assert [dict(graph.features(task)) for task in range(len(graph.names))] == [{}, {}]
    store.close()


def test_the_second_run_goes_where_the_plan_says(cluster: Any) -> None:
    for worker in ("0", "1"):
        advisor = Advisor(worker)
        first, second = run_with(cluster, advisor, times=2)
        assert first.plan is None
        assert second.mode == "planned"
        assert second.plan is not None
        assert second.plan.adopted
        assert {record.worker for record in second.tasks} == {worker}
        assert second.graph == first.graph, "names must be the same from run to run"


def test_forecast_and_outcome_count_from_the_first_submission(
    cluster: Any, advisor: Advisor
) -> None:
    """The advisor promises 5 s from when the tasks go out; bound 2.5 s."""
    submitted: list[float] = []
    ended: list[float] = []

    def body() -> None:
        first = load.submit(10)
        submitted.append(time.time())
        join.submit(first, *[load.submit(10) for _ in range(3)]).wait()
        ended.append(time.time())

    runs = run_with(cluster, advisor, body, times=2)
    for run, submission, end in zip(runs, submitted, ended, strict=True):
        assert run.started_at < submission
        assert run.started_at + run.seconds <= end
    plan = runs[1].plan
    assert plan is not None
    lead = plan.predicted - 5.0
    assert lead > 0
    assert plan.lower_bound == pytest.approx(2.5 + lead)
    assert plan.schedule.start.min() == pytest.approx(lead)
    assert min(task.start for task in runs[1].tasks) >= lead


def test_a_result_in_between_makes_two_epochs_and_one_promise(
    cluster: Any, advisor: Advisor
) -> None:
    def body() -> int:
        first = load.submit(10)
        number = len(first.result())
        return join.submit(first, load.submit(number)).result()

    _, run = run_with(cluster, advisor, body, times=2)
    assert [graph.names for graph in advisor.asked[2:]] == [("load-0",), ("load-1", "join-0")]
    assert run.graph.names == ("load-0", "load-1", "join-0")
    assert ("load-0", "join-0") in {(e.producer, e.consumer) for e in run.graph.edges()}
    assert run.plan is not None
    assert len(run.plan.schedule) == 3


def test_annotations_are_constraints_of_the_graph(cluster: Any, advisor: Advisor) -> None:
    def body() -> None:
        with dask.annotate(workers=[1]):
            placed = load.submit(1)
        with dask.annotate(workers=[1], allow_other_workers=True):
            anywhere = load.submit(1)
        placed.wait()
        anywhere.wait()

    (run,) = run_with(cluster, advisor, body)
    assert run.graph.task("load-0").eligible == ("1",)
    assert run.graph.task("load-1").eligible is None
    assert {record.worker for record in run.tasks if record.task == "load-0"} == {"1"}


def test_a_cluster_without_workers_is_no_failure(
    cluster: Any,
    advisor: Advisor,
    said: list[logging.LogRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = DaskLink.cluster
    answers = iter([InvalidCluster("no worker runs")])

    def none_at_first(link: DaskLink) -> Any:
        for nothing in answers:
            raise nothing
        return found(link)

    monkeypatch.setattr(DaskLink, "cluster", none_at_first)

    def body() -> int:
        load.submit(1).wait()
        return pipeline()

    (run,) = run_with(cluster, advisor, body)
    assert warnings_in(said) == []
    assert len(run.tasks) == 6
    assert len(advisor.asked) == 1


def test_a_state_passed_on_orders_two_tasks(cluster: Any, advisor: Advisor) -> None:
    def body() -> int:
        state: Any = load.submit(1000, return_state=True)
        return join.submit(state).result()

    (run,) = run_with(cluster, advisor, body)
    (edge,) = run.graph.edges()
    assert (edge.producer, edge.consumer, edge.nbytes) == ("load-0", "join-0", 0.0)


def test_cached_and_failed_tasks_are_marked_even_if_nobody_asked(
    cluster: Any, advisor: Advisor
) -> None:
    def body() -> None:
        remembered.submit(1).wait()
        again = remembered.submit(1)
        broken = fails.submit()
        join.submit(load.submit(1), wait_for=[again]).wait()
        broken.wait()
        join.submit(load.submit(1)).wait()

    (run,) = run_with(cluster, advisor, body)
    status = {record.task: record.status for record in run.tasks}
    assert status["remembered-0"] in ("ok", "cached")
    assert status["remembered-1"] == "cached"
    assert status["fails-0"] == "failed"
    assert status["join-1"] == "ok"


def test_a_flow_that_fails_is_recorded_as_failed(cluster: Any, advisor: Advisor) -> None:
    def body() -> None:
        load.submit(1).wait()
        fails.submit().result()

    with pytest.raises(ValueError, match="wrong"):
        run_with(cluster, advisor, body)
    assert [run.status for run in advisor.runs] == ["failed"]


@pytest.mark.parametrize(
    ("ends", "status"), [(SystemExit, "failed"), (KeyboardInterrupt, "cancelled")]
)
def test_a_flow_that_exits_has_failed_and_one_that_is_interrupted_was_cancelled(
    cluster: Any, advisor: Advisor, ends: type[BaseException], status: str
) -> None:
    def body() -> None:
        load.submit(1).wait()
        raise ends

    with pytest.raises(ends):
        run_with(cluster, advisor, body)
    assert [run.status for run in advisor.runs] == [status]


def test_plan_and_outcome_are_artifacts_of_the_flow_run(cluster: Any) -> None:
    advisor = Advisor()
    made = optimized_flow(
        task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor), name="Two_Artifacts"
    )(pipeline)
    for _ in range(2):
        made()
    found = {}
    with get_client(sync_client=True) as client:
        for what in ("plan", "outcome"):
            key = f"orchestrator-{what}-two-artifacts"
            found[what] = client.read_artifacts(
                artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key]))
            )
    assert (len(found["plan"]), len(found["outcome"])) == (1, 2)
    promised = advisor.runs[1].plan
    assert promised is not None
    bound = f"| proven bound | {seconds(promised.lower_bound)} (area) |"
    assert bound in str(found["plan"][0].data)
    planned_run = advisor.runs[1].run_id
    assert found["plan"][0].flow_run_id is not None
    assert found["plan"][0].flow_run_id.hex == planned_run


def test_one_line_says_what_was_forecast_and_what_happened(
    cluster: Any, advisor: Advisor, said: list[logging.LogRecord]
) -> None:
    run_with(cluster, advisor, times=2)
    lines = [r.getMessage() for r in said if r.getMessage().startswith("5 tasks on 2 workers")]
    assert len(lines) == 2
    plan = advisor.runs[1].plan
    assert plan is not None
    forecast, bound = seconds(plan.predicted), seconds(plan.lower_bound)
    assert lines[1].endswith(f"forecast {forecast}, proven bound {bound} at the durations expected")
    assert warnings_in(said) == []


class Broken(Advisor):
    """Fails at one method."""

    def __init__(self, method: str) -> None:
        super().__init__()
        setattr(self, method, self.fail)

    def fail(self, *arguments: Any) -> Any:
        raise OSError("the disk is full")


@pytest.mark.parametrize("method", ["advise", "record"])
def test_a_broken_advisor_costs_one_warning(
    cluster: Any, said: list[logging.LogRecord], method: str
) -> None:
    made = flow(
        task_runner=OptimizedTaskRunner(cluster=cluster, advisor=Broken(method), report=False)
    )(pipeline)
    assert made() == 3_000_010
    (warning,) = warnings_in(said)
    assert "OSError: the disk is full" in warning


def test_a_broken_store_costs_one_warning(
    cluster: Any, said: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_store(settings: Any) -> Any:
        raise OSError("no such database")

    monkeypatch.setattr("orchestrator_prefect.task_runner.flow_advisor", no_store)
    made = flow(task_runner=OptimizedTaskRunner(cluster=cluster, report=False))(pipeline)
    assert made() == 3_000_010
    (warning,) = warnings_in(said)
    assert "OSError: no such database" in warning


@pytest.mark.parametrize("method", ["__init__", "mode", "cluster", "begin", "records", "end"])
def test_a_broken_scheduler_side_costs_one_warning(
    cluster: Any,
    advisor: Advisor,
    said: list[logging.LogRecord],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise OSError("no answer")

    monkeypatch.setattr(DaskLink, method, broken)

    def body() -> int:
        load.submit(1).wait()
        return pipeline()

    made = flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False))(
        body
    )
    assert made() == 3_000_010
    (warning,) = warnings_in(said)
    assert "OSError: no answer" in warning


def test_a_broken_server_costs_the_artifact_only(
    cluster: Any,
    advisor: Advisor,
    said: list[logging.LogRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*arguments: Any) -> None:
        raise OSError("no server")

    monkeypatch.setattr("orchestrator_prefect.runs.artifacts.publish", broken)
    runs = run_with(cluster, advisor, times=2, report=True)
    assert len(runs) == 2
    assert len(warnings_in(said)) == 2, "one for each run"


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_off_means_plain_prefect_dask(
    cluster: Any, advisor: Advisor, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    seen: list[Any] = []

    def body() -> None:
        seen.append(load.submit(1))
        seen[0].wait()

    if how == "environment":
        monkeypatch.setenv("ORCHESTRATOR_MODE", "off")
    run_with(cluster, advisor, body, mode="off" if how == "argument" else "auto")
    assert type(seen[0]) is PrefectDaskFuture
    assert advisor.asked == advisor.runs == []


def test_observing_records_without_asking(cluster: Any, advisor: Advisor) -> None:
    (run,) = run_with(cluster, advisor, mode="observe")
    assert advisor.asked == []
    assert len(run.tasks) == 5


def test_futures_of_one_task_run_are_equal_and_travel_as_plain_ones(
    cluster: Any, advisor: Advisor
) -> None:
    seen: list[Any] = []

    def body() -> None:
        seen.extend(load.submit(1) for _ in range(2))
        assert [type(future) for future in seen] == [PlannedFuture] * 2
        assert seen[0] == seen[0]
        assert seen[0] != seen[1]
        assert len({*seen, *seen}) == 2
        assert seen[0] != "a future"
        assert seen[0].__reduce__()[0] is PrefectDaskFuture
        seen[0].wait()

    run_with(cluster, advisor, body)


def test_the_scheduler_knows_a_task_whose_dask_future_is_handed_out(
    cluster: Any, advisor: Advisor
) -> None:
    known: list[bool] = []

    def body() -> None:
        for number in range(5):
            future = load.submit(number).wrapped_future
            # Not `cluster`, which the flow would have to take along to its workers.
            known.append(any(future.key in each.tasks for each in Scheduler._instances))

    run_with(cluster, advisor, body)
    assert known == [True] * 5


def test_an_advisor_that_was_handed_in_stays_open(cluster: Any, advisor: Advisor) -> None:
    run_with(cluster, advisor)
    assert not advisor.closed
