"""Many flows at a time on one scheduler: each gets its own results, and nothing is left behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from distributed import Client
from prefect import flow, task

from orchestrator_core.execute.dask.graphs.announced import RUN_LIMIT
from orchestrator_core.execute.dask.plugin import OrchestratorPlugin
from orchestrator_prefect import OptimizedTaskRunner

from .conftest import Advisor

FLOWS, TASKS = 4, 10


@task
def times(number: int, factor: int) -> int:
    return number * factor


@task
def total(numbers: list[int]) -> int:
    return sum(numbers)


def body(number: int) -> list[int]:
    """The multiples of a number up to 8 times, and their sum in a second epoch."""
    futures = [times.submit(number, factor) for factor in range(TASKS - 2)]
    first = [future.result() for future in futures]
    both = [total.submit(futures), total.submit(first)]
    return [*first, *(future.result() for future in both)]


def right(number: int) -> list[int]:
    multiples = [number * factor for factor in range(TASKS - 2)]
    return [*multiples, sum(multiples), sum(multiples)]


def session_on(cluster: Any) -> Any:
    (plugin,) = (
        each for each in cluster.scheduler.plugins.values() if isinstance(each, OrchestratorPlugin)
    )
    return plugin.session


def left_on(cluster: Any) -> dict[str, int]:
    """What the scheduler knows of tasks, and what the plugin there does."""
    session, scheduler = session_on(cluster), cluster.scheduler
    return {
        "tasks": len(scheduler.tasks),
        "slots": len(session.steering.follower.slots),
        "stages": len(session.steering.follower.stages),
        "held": len(session.steering.follower.held),
        "watched": len(session.recorder.ledgers),
        "runs": len(session.announcements),
        "steered": len(session.control.steered),
    }


def until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Does it come to hold within these seconds?"""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


@pytest.mark.slow
def test_flows_in_threads_of_one_process(cluster: Any) -> None:
    before = left_on(cluster)
    advisors = [Advisor(worker=str(number % 2)) for number in range(FLOWS)]
    flows = []
    for advisor in advisors:
        advisor.runs.append(None)  # type: ignore[arg-type]  # as if it had seen one: it plans
        runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False)
        flows.append(flow(task_runner=runner)(body))
    with ThreadPoolExecutor(FLOWS) as pool:
        results = list(pool.map(lambda made, n: made(n), flows, range(FLOWS)))
    assert results == [right(number) for number in range(FLOWS)]
    runs = [advisor.runs[-1] for advisor in advisors]
    assert len({run.run_id for run in runs}) == FLOWS
    told = [(run.mode, run.status, len(run.tasks)) for run in runs]
    assert told == [("planned", "ok", TASKS)] * FLOWS
    assert until(lambda: left_on(cluster) == before), (before, left_on(cluster))
    assert session_on(cluster).mode == "director", "nothing made the plugin withdraw"


def test_more_flows_at_a_time_than_anybody_will_start(cluster: Any) -> None:
    """Of a hundred runs that were announced at once none is given up."""
    assert RUN_LIMIT >= 100
    from orchestrator_core.execute.dask import client as scheduler

    runs = [f"{number:032x}" for number in range(100)]
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        for run_id in runs:
            scheduler.begin(client, run_id, [(f"key-{run_id}", "name", "kind")])
        assert [scheduler.records(client, run_id) for run_id in runs] == [[]] * len(runs)
        for run_id in runs:
            scheduler.end(client, run_id)
    assert left_on(cluster)["runs"] == 0
