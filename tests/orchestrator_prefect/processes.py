"""A cluster that other processes reach, and what is left on it when they are gone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect.settings import PREFECT_API_URL

from orchestrator_core.execute.dask.client import ensure_plugin
from orchestrator_core.execute.dask.plugin import OrchestratorPlugin

from .conftest import HOME, Advisor
from .parity import gate

ROOT = Path(__file__).parents[2]
SECONDS = 180.0
"""How long something may take on a machine that has much else to do."""


@contextmanager
def cluster_for_processes(threads: int) -> Iterator[Any]:
    """One worker in this process, which other processes can reach."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=threads,
            processes=False,
            protocol="tcp://",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        ensure_plugin(client, advisor=Advisor())
        yield cluster
        gate.open()


def environment(**more: str) -> dict[str, str]:
    """For a process with the Prefect server and the results of this one."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PREFECT_API_URL": PREFECT_API_URL.value(),
        "PREFECT_RESULTS_LOCAL_STORAGE_PATH": str(Path(HOME, "storage")),
        **more,
    }


def until(happened: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"{what}: never"
        time.sleep(0.01)


def left_behind(cluster: Any, *prefixes: str) -> dict[str, Any]:
    """What our plugin keeps of announced runs, and the scheduler of tasks whose keys begin so;
    where nothing is left, the answer is empty."""
    (plugin,) = (
        each for each in cluster.scheduler.plugins.values() if isinstance(each, OrchestratorPlugin)
    )
    session = plugin.session
    assert session is not None
    steering = session.steering
    kept = {
        "runs": session.announcements.runs,
        "slots": dict(steering.follower.slots),
        "stages": dict(steering.follower.stages),
        "held": dict(steering.follower.held),
        "awaiting": set(steering.awaiting.keys),
        "watched": dict(session.recorder.ledgers),
        "steered": dict(session.control.steered),
        "tasks": {
            key: state.state
            for key, state in cluster.scheduler.tasks.items()
            if str(key).startswith(prefixes)
        },
    }
    return {name: value for name, value in kept.items() if value}
