"""How long a task's own code ran is told beside how long the task took."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from prefect import flow, task

from orchestrator_core.execute.record import TaskRecord
from orchestrator_prefect import OptimizedTaskRunner

from ..conftest import Advisor

NAP = 0.05


@task
def naps() -> None:
    time.sleep(NAP)


@task
async def naps_with_others() -> None:
    await asyncio.sleep(NAP)


@task(retries=1, retry_delay_seconds=0)
def naps_twice(tries: list[int]) -> None:
    time.sleep(NAP)
    tries.append(1)
    if len(tries) == 1:
        raise ValueError("once more")


@task
def naps_within() -> None:
    naps()
    naps()


@task
def is_quick() -> int:
    return 1


@pytest.fixture(scope="module")
def records(cluster: Any) -> dict[str, TaskRecord]:
    """By kind of task, the last record; a flow before it has taught the workers to listen."""

    def body() -> None:
        is_quick.submit().result()
        tasks = [each.submit() for each in (naps, naps_with_others, naps_within, is_quick)]
        tasks.append(naps_twice.submit([]))
        for each in tasks:
            each.wait()

    advisor = Advisor()
    flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor))(body)()
    (run,) = advisor.runs
    return {record.kind.split(".")[-1]: record for record in run.tasks}


def work(records: dict[str, TaskRecord], kind: str) -> float:
    (record,) = [record for name, record in records.items() if name.rsplit("-")[0] == kind]
    assert record.overhead_seconds is not None
    assert 0.0 < record.overhead_seconds < record.seconds
    return record.seconds - record.overhead_seconds


@pytest.mark.parametrize("kind", ["naps", "naps_with_others"])
def test_work_is_at_least_the_nap(records: dict[str, TaskRecord], kind: str) -> None:
    assert work(records, kind) >= NAP


def test_of_a_task_that_was_tried_again_all_tries_count(records: dict[str, TaskRecord]) -> None:
    assert work(records, "naps_twice") >= 2 * NAP


def test_tasks_within_a_task_are_its_work(records: dict[str, TaskRecord]) -> None:
    assert work(records, "naps_within") >= 2 * NAP


def test_what_does_nothing_costs_something(records: dict[str, TaskRecord]) -> None:
    assert work(records, "is_quick") >= 0.0
