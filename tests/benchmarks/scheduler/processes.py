"""A scheduler and workers in processes of their own, and graphs of tasks that do nothing."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.scheduler import inside
from tests.benchmarks.scheduler.advisor import TrivialAdvisor

WORKERS = 2
LAYERS = 5
MODES = ("plain", "observe", "director")


@contextlib.contextmanager
def fresh(mode: str, plan_wait: float | None = None) -> Iterator[Any]:
    """A client of a new cluster, with the plugin in that mode, "auto" too, unless plain."""
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    os.environ["DASK_LOGGING__DISTRIBUTED"] = "error"
    with (
        tempfile.TemporaryDirectory(prefix="orchestrator-bench-") as folder,
        SubprocessCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        client.wait_for_workers(WORKERS)
        client.run_on_scheduler(inside.prepare)
        if mode != "plain":
            register(client, mode, Path(folder) / "fresh.db", plan_wait)
        yield client


def register(client: Any, mode: str, store: Path, plan_wait: float | None) -> None:
    """Put the plugin on the scheduler, and wait until it can be asked."""
    from orchestrator_core.execute.dask import OrchestratorPlugin
    from orchestrator_core.execute.dask.client import wait_ready

    planned: dict[str, Any] = {}
    if mode == "director":
        planned = {"advisor": TrivialAdvisor(), "max_tasks": 10**9}
    client.register_plugin(
        OrchestratorPlugin(str(store), mode=mode, plan_wait=plan_wait, **planned)
    )
    wait_ready(client)


def run(client: Any, tasks: int, tag: str) -> None:
    """`LAYERS` layers of tasks that do nothing; each has one input in the layer above."""
    from distributed import wait

    width = tasks // LAYERS
    graph: dict[Any, Any] = {(f"{tag}-0", i): (nothing,) for i in range(width)}
    for layer in range(1, LAYERS):
        above = f"{tag}-{layer - 1}"
        graph |= {(f"{tag}-{layer}", i): (nothing, (above, i)) for i in range(width)}
    wanted = [(f"{tag}-{LAYERS - 1}", i) for i in range(width)]
    wait(client.get(graph, wanted, sync=False))  # type: ignore[no-untyped-call]


def nothing(*inputs: None) -> None:
    return None
