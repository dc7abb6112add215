"""A flow whose process dies leaves nothing behind, and goes on where it was when it runs again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow
from prefect.states import AwaitingRetry

from orchestrator_prefect.resume.stored import STORED

from .conftest import Advisor
from .dying_flow import FIRST, SECOND, THREADS, made
from .parity import gate, notes
from .processes import ROOT, SECONDS, cluster_for_processes, environment, left_behind, until

TASKS = ("quick", "behind_the_gate", "last")
SCRIPT = "from tests.orchestrator_prefect.dying_flow import main; main()"


@pytest.fixture
def tcp_cluster(prefect_server: None) -> Iterator[Any]:
    with cluster_for_processes(THREADS) as cluster:
        yield cluster


def process_of(cluster: Any, flow_run: Any) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", SCRIPT, cluster.scheduler_address, str(flow_run.id)]
    return subprocess.Popen(arguments, cwd=ROOT, env=environment())


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=str
)
def test_a_dead_flow_leaves_nothing_and_goes_on_where_it_was(tcp_cluster: Any, how: Any) -> None:
    gate.close()
    advisor = Advisor()
    ours = made(tcp_cluster.scheduler_address, advisor)
    with get_client(sync_client=True) as client:
        flow_run = client.create_flow_run(ours)
    began = [f"quick {i}" for i in range(FIRST)] + [f"behind {i}" for i in range(THREADS)]
    (worker,) = tcp_cluster.workers.values()
    process = process_of(tcp_cluster, flow_run)
    try:
        until(lambda: len(notes.of(flow_run.id)) == len(began), "tasks fill the worker")
        assert sorted(notes.of(flow_run.id)) == sorted(began)
        # Only then can the worker be seen to forget them.
        until(lambda: len(worker.state.ready) == SECOND - THREADS, "the worker knows of the others")
        assert left_behind(tcp_cluster, *TASKS)["slots"], "the dead run must have been planned"
        process.send_signal(how)
        process.wait(SECONDS)
    finally:
        process.kill()
    until(lambda: not left_behind(tcp_cluster, *TASKS), "the scheduler forgets")
    until(lambda: not worker.state.ready, "the worker forgets what it has not begun")

    # What had begun goes on to its end, as under Dask alone; the rest never starts.
    gate.open()
    passed = [f"passed {i}" for i in range(THREADS)]
    until(lambda: set(passed) <= set(notes.of(flow_run.id)), "what had begun ends")
    assert sorted(notes.of(flow_run.id)) == sorted(began + passed)

    again(ours, flow_run, FIRST + THREADS)
    assert sorted(notes.of(flow_run.id)) == sorted(
        began
        + passed
        + [f"{what} {i}" for i in range(THREADS, SECOND) for what in ("behind", "passed")]
        + ["last"]
    )
    stored = {
        name
        for graph in advisor.asked
        for i, name in enumerate(graph.names)
        if graph.kind(i).endswith(STORED)
    }
    cached = {record.task for record in advisor.runs[0].tasks if record.status == "cached"}
    assert stored == cached
    assert len(cached) == FIRST + THREADS
    assert not left_behind(tcp_cluster, *TASKS)


def again(ours: Any, flow_run: Any, stored: int) -> None:
    """The run is tried again, when the server has heard of what was stored."""
    from .test_resume import server_knows

    server_knows(flow_run.id, stored)
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(flow_run.id, AwaitingRetry(), force=True)
        flow_run = client.read_flow_run(flow_run.id)
    assert run_flow(ours, flow_run=flow_run) == sum(range(SECOND))
