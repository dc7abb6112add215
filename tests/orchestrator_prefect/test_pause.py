"""A flow that pauses lets go what it has submitted; in the pause it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.flow_runs import pause_flow_run, resume_flow_run
from prefect_dask import DaskTaskRunner

from orchestrator_prefect import OptimizedTaskRunner

from .conftest import Advisor
from .test_resume import history


@task
def once(text: str) -> str:
    return text


@task
def resumes(flow_run_id: str) -> str:
    with get_client(sync_client=True) as client:
        while not (state := client.read_flow_run(flow_run_id).state).is_paused():
            pass
        resume_flow_run(flow_run_id)
        return str(state.name)


def pauses() -> str:
    """What was submitted before the pause runs in it: it ends the pause."""
    context = FlowRunContext.get()
    assert context is not None
    first = resumes.submit(str(context.flow_run.id))
    pause_flow_run(timeout=60, poll_interval=0.05)  # type: ignore[call-overload]
    return first.result() + once.submit("!").result()


Runner = Callable[[Any], Any]
RUNNERS: dict[str, Runner] = {
    "ours": lambda cluster: OptimizedTaskRunner(cluster=cluster, advisor=Advisor(), report=False),
    "prefect-dask": lambda cluster: DaskTaskRunner(address=cluster.scheduler_address),
}


@pytest.mark.parametrize(
    "runner", ["ours", pytest.param("prefect-dask", marks=pytest.mark.slow)], ids=str
)
def test_a_paused_flow_lets_go_what_it_has_submitted(cluster: Any, runner: str) -> None:
    made = flow(task_runner=RUNNERS[runner](cluster))(pauses)
    state = made(return_state=True)
    assert state.result() == "Paused!"
    with get_client(sync_client=True) as client:
        flow_run = client.read_flow_run(state.state_details.flow_run_id)
    assert history(flow_run) == ["Pending", "Running", "Paused", "Running", "Completed"]
