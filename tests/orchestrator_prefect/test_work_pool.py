"""Deployments that the worker of a process work pool starts go as under prefect-dask."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate

from .processes import ROOT, cluster_for_processes, environment
from .test_served import check_both

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

POOL, NAME = "parity-processes", "pooled"
FUNCTIONS = ("theirs", "ours")


@pytest.fixture(scope="module")
def pool(prefect_server: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The cluster of the flows that a worker process starts, each in a process of its own."""
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
    for function in FUNCTIONS:
        source = Flow.from_source(
            str(ROOT), f"{Path(__file__).parent.relative_to(ROOT)}/served_flows.py:{function}"
        )
        source.deploy(NAME, work_pool_name=POOL, print_next_steps=False)
    store = str(tmp_path_factory.mktemp("store") / "pooled.db")
    command = [sys.executable, "-m", "prefect", "worker", "start", "--type", "process"]
    with cluster_for_processes(2) as cluster:
        variables = environment(
            SERVED_ON=cluster.scheduler_address,
            SERVED_STORE=store,
            PREFECT_LOGGING_LEVEL="INFO",
            PREFECT_WORKER_QUERY_SECONDS="0.5",
        )
        process = subprocess.Popen([*command, "--pool", POOL], cwd=ROOT, env=variables)
        try:
            yield cluster
        finally:
            process.terminate()
            process.wait(60.0)


@pytest.mark.parametrize("what", ["add", "fail", "suspend", "wait"])
def test_a_deployment_of_a_work_pool_goes_as_under_prefect_dask(pool: Any, what: str) -> None:
    check_both(pool, what, NAME)
