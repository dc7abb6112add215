"""A flow run that is suspended or tried again plans what is left; what is stored costs nothing."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from prefect import flow, task, unmapped
from prefect.cache_policies import INPUTS, NO_CACHE, TASK_SOURCE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.context import FlowRunContext
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow
from prefect.flow_runs import resume_flow_run, suspend_flow_run
from prefect.futures import wait
from prefect_dask import DaskTaskRunner

from orchestrator_core.costs.instance import Instance
from orchestrator_core.costs.model import GraphCosts
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.resume.stored import STORED

from .conftest import Advisor
from .parity import notes


@task(persist_result=True)
def load(x: int) -> int:
    notes.note(f"load {x}")
    return x


@task(persist_result=True)
def grow(x: int, by: int) -> int:
    notes.note(f"grow {x} by {by}")
    return x * by


@task(persist_result=True, cache_key_fn=lambda context, arguments: "whatever the user says")
def keyed_by_user(x: int) -> int:
    notes.note("keyed")
    return x


@task
def total(numbers: list[int]) -> int:
    notes.note("total")
    return sum(numbers)


def grown(factors: tuple[int, ...]) -> list[Any]:
    loaded = [load.submit(i) for i in range(2)]
    return [grow.submit(each, by) for each in loaded for by in factors]


def suspends() -> int:
    first = grown((2, 3))
    wait(first)
    suspend_flow_run(key="once")
    return total.submit([*first, *grown((5,))]).result()


def flow_run_of(made: Any) -> Any:
    """A run of a deployment of the flow, which nobody has begun yet."""
    with get_client(sync_client=True) as client:
        flow_id = client.create_flow_from_name(made.name)
        deployment = client.create_deployment(flow_id, name=f"of {made.name}")
        return client.create_flow_run_from_deployment(deployment)


def go(made: Any, flow_run: Any) -> Any:
    """What Prefect does with a flow run whose time has come."""
    with get_client(sync_client=True) as client:
        return run_flow(made, flow_run=client.read_flow_run(flow_run.id), return_type="state")


def history(flow_run: Any) -> list[str]:
    with get_client(sync_client=True) as client:
        return [str(each.name) for each in client.read_flow_run_states(flow_run.id)]


def server_knows(flow_run_id: Any, number: int) -> None:
    """Waits until the server has heard that so many of the task runs are completed."""
    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
    deadline = time.monotonic() + 30.0
    with get_client(sync_client=True) as client:
        while time.monotonic() < deadline:
            found = client.read_task_runs(flow_run_filter=of_run)
            if (
                sum(each.state is not None and each.state.is_completed() for each in found)
                >= number
            ):
                return
    raise TimeoutError(f"the server does not know of {number} completed task runs")


def first_try(number: int) -> bool:
    """Is this the first try? If so, when the server knows of so many completed task runs."""
    context = FlowRunContext.get()
    assert context is not None
    if context.flow_run.run_count > 1:
        return False
    server_knows(context.flow_run.id, number)
    return True


def suspended_and_resumed(made: Any) -> tuple[Any, Any]:
    """The flow run, and the state in which it ended."""
    flow_run = flow_run_of(made)
    with pytest.raises(Pause):
        go(made, flow_run)
    server_knows(flow_run.id, 6)
    resume_flow_run(flow_run.id)
    return flow_run, go(made, flow_run)


def kinds(graph: TaskGraph) -> dict[str, bool]:
    """Which tasks of the graph were planned as stored?"""
    return {name: graph.kind(i).endswith(STORED) for i, name in enumerate(graph.names)}


def test_a_resumed_flow_plans_what_is_left(cluster: Any) -> None:
    advisor = Advisor()
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    made = optimized_flow(task_runner=runner, name="suspends")(suspends)
    flow_run, state = suspended_and_resumed(made)
    assert state.result() == 5 + 5
    done = notes.of(flow_run.id)
    assert sorted(done) == [
        *[f"grow {x} by {by}" for x in (0, 1) for by in (2, 3, 5)],
        "load 0",
        "load 1",
        "total",
    ]
    before, after = advisor.runs
    assert (before.status, after.status) == ("cancelled", "ok")
    assert before.run_id == flow_run.id.hex
    assert after.run_id != before.run_id
    assert not any(kinds(advisor.asked[0]).values())
    last = {name: stored for graph in advisor.asked for name, stored in kinds(graph).items()}
    left = {"grow-4", "grow-5", "total-0"}
    assert {name for name, stored in last.items() if not stored} == left


def test_the_record_of_a_resumed_flow_is_true(cluster: Any) -> None:
    advisor = Advisor()
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    suspended_and_resumed(optimized_flow(task_runner=runner, name="records")(suspends))
    run = advisor.runs[1]
    status = {record.task: record.status for record in run.tasks}
    assert {name for name, each in status.items() if each == "ok"} == {
        "grow-4",
        "grow-5",
        "total-0",
    }
    assert set(status.values()) == {"ok", "cached"}
    assert not any(kinds(run.graph).values()), "what ran is written down under its own name"
    assert run.graph.names[:6] == advisor.runs[0].graph.names


@pytest.mark.slow
def test_it_is_suspended_and_resumed_as_under_prefect_dask(cluster: Any) -> None:
    plain = DaskTaskRunner(address=cluster.scheduler_address)
    ours = OptimizedTaskRunner(cluster=cluster, advisor=Advisor(), report=False)
    ends = []
    for runner in (plain, ours):
        flow_run, state = suspended_and_resumed(
            flow(task_runner=runner, name=f"as {runner.name}")(suspends)
        )
        ends.append((state.name, state.result(), sorted(notes.of(flow_run.id)), history(flow_run)))
    assert ends[0] == ends[1]


def fails_once() -> int:
    first = grown((2,))
    wait(first)
    if first_try(4):
        raise RuntimeError("the first try")
    kept = keyed_by_user.submit(1)
    return total.submit([*first, kept]).result()


def test_a_flow_that_is_tried_again_plans_what_is_left(cluster: Any) -> None:
    advisor = Advisor()
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    made = optimized_flow(task_runner=runner, retries=1, retry_delay_seconds=0)(fails_once)
    assert made() == 3
    assert [run.status for run in advisor.runs] == ["failed", "ok"]
    stored = [kinds(graph) for graph in advisor.asked]
    assert not any(stored[0].values())
    assert all(stored[1].values())
    assert stored[2] == {"keyed_by_user-0": False, "total-0": False}


@task(persist_result=True, cache_policy=INPUTS + TASK_SOURCE)
def by_inputs(x: int, *, run: str) -> int:
    return x


@task(persist_result=True, cache_policy=NO_CACHE)
def never_stored(x: int) -> int:
    return x


def stores_in_several_ways() -> list[int]:
    context = FlowRunContext.get()
    assert context is not None
    run = str(context.flow_run.id)
    mapped = by_inputs.map([1, 2, 3], run=unmapped(run))
    fresh = by_inputs.with_options(refresh_cache=True).submit(1, run=run)
    several = [*mapped, never_stored.submit(1), fresh, load.submit(7)]
    wait(several)
    if first_try(6):
        raise RuntimeError("the first try")
    return [each.result() for each in several[:5]]


def test_only_what_prefect_will_find_counts_as_stored(cluster: Any) -> None:
    advisor = Advisor()
    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
    made = optimized_flow(task_runner=runner, retries=1, retry_delay_seconds=0)(
        stores_in_several_ways
    )
    assert made() == [1, 2, 3, 1, 1]
    planned = {name for name, stored in kinds(advisor.asked[-1]).items() if stored}
    taken = {record.task for record in advisor.runs[1].tasks if record.status == "cached"}
    assert planned == taken == {"by_inputs-0", "by_inputs-1", "by_inputs-2", "load-0"}


def test_what_is_stored_takes_no_time_in_a_plan() -> None:
    builder = TaskGraph.build()
    builder.task("a", kind=f"load{STORED}", seconds=0.0)
    builder.task("b", kind="grow", seconds=2.0)
    instance = Instance.price(builder.done(), Cluster([Worker("w")]), GraphCosts())
    assert np.allclose(instance.seconds[:, 0], [0.0, 2.0])
