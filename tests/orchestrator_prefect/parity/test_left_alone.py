"""Fire and forget: tasks that a flow never waits for end as they end under prefect-dask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from prefect import flow, task
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.exceptions import ObjectNotFound
from prefect_dask import DaskTaskRunner

from orchestrator_prefect import OptimizedTaskRunner, optimized_flow

from ..background_tasks import background_add
from ..processes import ROOT, environment, until
from . import gate, notes
from .test_parity import Plans

SERVES = "from tests.orchestrator_prefect.background_tasks import main; main()"


@task
def outlives_its_flow() -> int:
    notes.note("begun")
    gate.wait(60.0)
    notes.note("ended")
    return 1


@pytest.fixture
def decorators(cluster: Any) -> tuple[Callable[..., Any], ...]:
    """Theirs, ours as it watches, ours as it plans."""
    ours = [
        OptimizedTaskRunner(cluster=cluster, mode="observe", advisor=Plans(), report=False),
        OptimizedTaskRunner(cluster=cluster, advisor=Plans(), report=False),
    ]
    return (
        partial(flow, task_runner=DaskTaskRunner(address=cluster.scheduler_address)),
        *(partial(optimized_flow, task_runner=runner) for runner in ours),
    )


def history(client: SyncPrefectClient, task_run: Any) -> list[tuple[str, str | None]]:
    """The states of a task run that has run and ended. The server makes them of events, by and by,
    and not always in their order."""

    def states() -> list[Any]:
        try:
            return client.read_task_run_states(task_run)
        except ObjectNotFound:
            return []

    def has_run_and_ended() -> bool:
        found = states()
        return any(s.is_running() for s in found) and any(s.is_final() for s in found)

    until(has_run_and_ended, "the task run ends")
    return [(str(state.name), state.message) for state in states()]


def test_a_task_that_outlives_its_flow(decorators: tuple[Callable[..., Any], ...]) -> None:
    seen = []
    for decorator in decorators:
        found: list[UUID] = []

        @decorator(name="is outlived")
        def is_outlived(found: Any = found) -> str:
            from prefect.runtime import flow_run

            future = outlives_its_flow.submit()
            future.add_done_callback(lambda done: None)  # It is sent; nobody waits.
            found.append(future.task_run_id)
            until(lambda: notes.of(flow_run.id) == ["begun"], "the task begins")
            return str(flow_run.id)

        gate.close()
        flow_run_id = is_outlived()
        assert notes.of(flow_run_id) == ["begun"], "the flow did not wait"
        gate.open()
        until(lambda run=flow_run_id: "ended" in notes.of(run), "the task ends")
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(UUID(flow_run_id)).state
            seen.append((str(state and state.name), history(client, found[0])))
    assert seen[0][0] == "Completed"
    assert seen[1:] == [seen[0]] * (len(decorators) - 1)


@pytest.fixture(scope="module")
def task_worker(prefect_server: None) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", SERVES], cwd=ROOT, env=environment())
    try:
        yield
    finally:
        process.terminate()
        process.wait(60.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_background_tasks_of_a_task_worker(
    task_worker: None, decorators: tuple[Callable[..., Any], ...]
) -> None:
    """One that is waited for, one that nobody asks again, and one that fails."""
    seen = []
    for decorator in decorators:

        @decorator(name="delays")
        def delays() -> list[Any]:
            waited, forgotten, failing = (background_add.delay(x) for x in (1, 10, -1))
            waited.wait()
            return [waited.result(), waited.task_run_id, forgotten.task_run_id, failing.task_run_id]

        value, *task_runs = delays()
        with get_client(sync_client=True) as client:
            runs = [client.read_task_run(each) for each in task_runs]
            about = [(sorted(each.tags), each.flow_run_id is None) for each in runs]
            states = [history(client, each) for each in task_runs]
        seen.append((value, about, [[name for name, _ in each] for each in states]))
    assert seen[0][0] == 2
    assert [each[-1] for each in seen[0][2]] == ["Completed", "Completed", "Failed"]
    assert seen[1:] == [seen[0]] * (len(decorators) - 1)
