"""Each flow under stock prefect-dask and under `@optimized_flow`, by turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from prefect import flow
from prefect_dask import DaskTaskRunner

import orchestrator_core as oc
from orchestrator_prefect import optimized_flow
from tests.benchmarks.live.workload import Step, Workload
from tests.benchmarks.prefect_flows.body import Body
from tests.benchmarks.prefect_flows.row import Planned, Row

WARM_UP = Workload("warm-up", {("nothing", i): Step(0.0) for i in range(8)})


def compare(client: Any, workloads: Sequence[Workload], runs: int, folder: Path) -> Iterator[Row]:
    """A row for each flow, each with a database of its own; the first run of all warms up."""
    client.run(_import_prefect)
    address = client.scheduler.address
    _row(WARM_UP, 2, address, str(folder / "warm-up.db"))
    for i, workload in enumerate(workloads):
        yield _row(workload, runs, address, str(folder / f"{i}.db"))


def _import_prefect() -> None:
    import prefect.task_engine  # noqa: F401


def _row(workload: Workload, runs: int, address: str, store: str) -> Row:
    body = Body(workload)
    stock = flow(body.function(), name=workload.name, task_runner=DaskTaskRunner(address=address))
    ours = optimized_flow(body.function(), name=workload.name, address=address, store=store)
    seconds: dict[str, list[float]] = {"stock": [], "ours": []}
    right = True
    planned = []
    for turn in range(runs):
        seconds["stock"].append(_run(stock, body))
        right &= body.is_right()
        seconds["ours"].append(_run(ours, body))
        right &= body.is_right()
        if turn:
            planned.append(_planned(store, seconds["ours"][-1]))
    return Row(
        workload.name,
        len(workload.steps),
        tuple(seconds["stock"]),
        seconds["ours"][0],
        tuple(planned),
        right,
    )


def _run(made: Callable[[], Any], body: Body) -> float:
    made()
    return body.seconds


def _planned(store: str, seconds: float) -> Planned:
    with closing(oc.ScheduleStore(store)) as opened:
        run = opened.run(opened.runs(limit=1)[0].run_id)
    if run.plan is None:
        return Planned(seconds, None, run.seconds, "none", None)
    return Planned(seconds, run.plan.forecast, run.seconds, run.plan.cache, run.plan.lower_bound)
