"""Prefect flows beside stock prefect-dask: the first, observed run, and the cost of submitting.

Equal workers and equal tasks, so that no placement is better than another: what is left is what
observing costs. Runs alternate; every observed run has a database of its own, and stock flows have
workers of their own: on ours Prefect's tasks stay lighter.

With ``--crowd 100x100``: so many flows at a time, of so many tasks each, on one scheduler.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from examples.support.prefect_server import prefect_server
from tests.benchmarks import _prefect_crowd

RUNS = 5
TASKS = 40
SECONDS = 0.3


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prefect_runs")
    group.add_argument("--crowd", metavar="FxT", help="F flows of T tasks each, all at a time")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "error"
    folder = Path(tempfile.mkdtemp(prefix="orchestrator-bench-"))
    with prefect_server(folder) as server, _cluster() as plain, _cluster() as own:
        server.wait()
        if options.crowd:
            flows, tasks = map(int, options.crowd.split("x"))
            return _prefect_crowd.compare(plain, own, folder, flows, tasks)
        return _compare(plain.scheduler_address, own.scheduler_address, folder)


@contextmanager
def _cluster() -> Iterator[Any]:
    """Two workers of one thread, which have imported Prefect."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        client.run(_import_prefect)
        yield cluster


def _import_prefect() -> None:
    import prefect.task_engine  # noqa: F401


def _compare(plain: str, own: str, folder: Path) -> dict[str, Any]:
    from prefect import flow, task
    from prefect_dask import DaskTaskRunner

    from orchestrator_prefect import optimized_flow

    @task
    def step(i: int) -> int:
        time.sleep(SECONDS)
        return i

    submitting: list[float] = []

    def body() -> None:
        begun = time.perf_counter()
        futures = [step.submit(i) for i in range(TASKS)]
        submitting.append(1000 * (time.perf_counter() - begun) / TASKS)
        for future in futures:
            future.wait()

    stock = flow(body, name="bench", task_runner=DaskTaskRunner(address=plain))
    walls: dict[str, list[float]] = {"stock": [], "observed": []}
    submits: dict[str, list[float]] = {"stock": [], "observed": []}
    for run in range(RUNS + 1):
        ours = optimized_flow(body, name="bench", address=own, store=str(folder / f"{run}.db"))
        for name, each in (("stock", stock), ("observed", ours)):
            begun = time.perf_counter()
            each()
            if run > 0:  # the first of each only warms up
                walls[name].append(time.perf_counter() - begun)
                submits[name].append(submitting[-1])
    wall = {name: statistics.median(values) for name, values in walls.items()}
    submit = {name: statistics.median(values) for name, values in submits.items()}
    return {
        "tasks": TASKS,
        "runs": RUNS,
        "stock_s": round(wall["stock"], 2),
        "observed_s": round(wall["observed"], 2),
        "observed_to_stock": round(wall["observed"] / wall["stock"], 3),
        "stock_submit_ms_per_task": round(submit["stock"], 1),
        "our_submit_ms_per_task": round(submit["observed"], 1),
        "submit_ratio": round(submit["observed"] / submit["stock"], 3),
    }
