"""Deployments that are served end, fail, suspend and are cancelled as under prefect-dask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.exceptions import ObjectNotFound
from prefect.flow_runs import resume_flow_run
from prefect.states import Cancelling

from orchestrator_core.store.base import RunSummary
from orchestrator_core.store.sql import ScheduleStore

from .parity import gate, notes
from .processes import ROOT, cluster_for_processes, environment, left_behind, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SCRIPT = "from tests.orchestrator_prefect.served_flows import main; main()"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("store") / "served.db")


@pytest.fixture(scope="module")
def served(prefect_server: None, store: str) -> Iterator[Any]:
    """The cluster on which a process serves both flows."""
    with cluster_for_processes(2) as cluster:
        variables = environment(
            SERVED_ON=cluster.scheduler_address, SERVED_STORE=store, PREFECT_LOGGING_LEVEL="INFO"
        )
        process = subprocess.Popen([sys.executable, "-c", SCRIPT], cwd=ROOT, env=variables)
        try:
            yield cluster
        finally:
            process.terminate()
            process.wait(60.0)


def begun(client: SyncPrefectClient, flow: str, what: str, name: str = "served") -> Any:
    found: list[Any] = []

    def is_there() -> bool:
        try:
            found.append(client.read_deployment_by_name(f"{flow}/{name}"))
        except ObjectNotFound:
            return False
        return True

    until(is_there, "the deployment is served")
    return client.create_flow_run_from_deployment(found[0].id, parameters={"what": what}).id


def outcome(client: SyncPrefectClient, flow_run: Any) -> tuple[Any, ...]:
    """What there is to be seen of a run that has ended."""

    def has_ended() -> bool:
        state = client.read_flow_run(flow_run).state
        return state is not None and state.is_final()

    until(has_ended, "the run ends")
    states = client.read_flow_run_states(flow_run)
    # A run that waits for its process is late by and by.
    history = [(str(state.name), state.message) for state in states if state.name != "Late"]
    of_run = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[flow_run]))
    said: list[Any] = []

    def has_said() -> bool:
        logs = client.read_logs(of_run, limit=200)
        said[:] = [log.message for log in logs if log.message.startswith("does")]
        return len(said) >= sum(name == "Running" for name, _ in history)

    until(has_said, "the logs are there")
    return history, sorted(notes.of(flow_run)), said


@pytest.mark.parametrize("what", ["add", "fail", "suspend", "wait"])
def test_a_served_deployment_goes_as_under_prefect_dask(served: Any, what: str) -> None:
    check_both(served, what)


@pytest.mark.parametrize("what", ["add", "wait"])
def test_a_flow_that_is_handed_over_goes_so_and_is_ours(served: Any, store: str, what: str) -> None:
    """`flow.serve()` sends the flow itself to the processes that run it."""
    before = runs_in(store)
    check_both(served, what, "handed")
    until(lambda: len(runs_in(store)) > len(before), "what ran is remembered")
    last, *others = runs_in(store)
    assert others == before
    assert last.flow == "served-ours"
    assert last.status == {"add": "ok", "wait": "cancelled"}[what]


def runs_in(store: str) -> list[RunSummary]:
    """The newest first."""
    with closing(ScheduleStore(store)) as opened:
        return opened.runs()


def check_both(cluster: Any, what: str, name: str = "served") -> None:
    """Deployments of that name, of a flow of Prefect's and of ours, end in the same way."""
    ends = []
    with get_client(sync_client=True) as client:
        for flow in ("served-theirs", "served-ours"):
            gate.close()
            flow_run = begun(client, flow, what, name)
            if what == "wait":
                until(lambda run=flow_run: "waits" in notes.of(run), "the task waits")
                client.set_flow_run_state(flow_run, Cancelling())
            if what == "suspend":
                until(lambda run=flow_run: is_suspended(client, run), "the run is suspended")
                resume_flow_run(flow_run)
            ends.append(outcome(client, flow_run))
            until(lambda: not left_behind(cluster, "served_"), "the scheduler forgets")
            gate.open()
    assert ends[1] == ends[0]
    assert len(ends[0][1]) >= 3, "tasks ran on the cluster of this process"
    assert ends[0][0][-1][0] == {"fail": "Failed", "wait": "Cancelled"}.get(what, "Completed")


def is_suspended(client: SyncPrefectClient, flow_run: Any) -> bool:
    state = client.read_flow_run(flow_run).state
    return state is not None and state.name == "Suspended"
