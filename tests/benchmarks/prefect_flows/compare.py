"""Each flow under stock prefect-dask and under `@optimized_flow`, by turns, in new processes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orchestrator_core as oc
from tests.benchmarks.live.workload import Workload
from tests.benchmarks.prefect_flows.choice import chosen
from tests.benchmarks.prefect_flows.once import Order, Ran, run_apart
from tests.benchmarks.prefect_flows.row import Planned, Row


def compare(plain: Any, own: Any, options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """A row for each flow, each with a database of its own; the first run of all warms up.

    Args:
        plain, own: clients of the cluster of stock prefect-dask, and of ours.
    """
    for client in (plain, own):
        client.run(import_prefect)
    workloads = chosen(options)
    shortest = min(workloads, key=lambda each: sum(step.seconds for step in each.steps.values()))
    order = Order(
        shortest.name,
        None if options.data is None else str(options.data),
        options.trace_tasks,
        plain.scheduler.address,
        None,
    )
    run_apart(order)
    run_apart(replace(order, address=own.scheduler.address))
    for i, workload in enumerate(workloads):
        stock = replace(order, name=workload.name)
        ours = replace(stock, address=own.scheduler.address, store=str(folder / f"{i}.db"))
        yield _row(workload, stock, ours, options.runs)


def import_prefect() -> None:
    import prefect.task_engine  # noqa: F401


def _row(workload: Workload, stock: Order, ours: Order, runs: int) -> Row:
    plain: list[Ran] = []
    found: list[Ran] = []
    planned: list[Planned] = []
    for turn in range(runs):
        plain.append(run_apart(stock))
        found.append(run_apart(ours))
        if turn:
            planned.append(_planned(str(ours.store), found[-1].seconds))
    return Row(
        workload.name,
        len(workload.steps),
        tuple(each.seconds for each in plain),
        found[0].seconds,
        tuple(planned),
        all(each.right for each in (*plain, *found)),
    )


def _planned(store: str, seconds: float) -> Planned:
    with closing(oc.ScheduleStore(store)) as opened:
        run = opened.run(opened.runs(limit=1)[0].run_id)
    if run.plan is None:
        return Planned(seconds, None, run.seconds, "none", None)
    return Planned(seconds, run.plan.forecast, run.seconds, run.plan.cache, run.plan.lower_bound)
