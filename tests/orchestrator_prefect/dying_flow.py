"""A flow in a process of its own that is killed in the middle; its tasks run where workers are."""

from __future__ import annotations

import sys
from typing import Any
from uuid import UUID

from prefect import task
from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow
from prefect.futures import wait

from orchestrator_prefect import OptimizedTaskRunner, optimized_flow

from .conftest import Advisor
from .parity import gate, notes

FIRST, SECOND, THREADS = 2, 4, 2


@task(persist_result=True)
def quick(x: int) -> int:
    notes.note(f"quick {x}")
    return x


@task(persist_result=True)
def behind_the_gate(x: int, y: int) -> int:
    notes.note(f"behind {x}")
    gate.wait(60.0)
    notes.note(f"passed {x}")
    return x + y


@task
def last(numbers: list[int]) -> int:
    notes.note("last")
    return sum(numbers)


def dying() -> int:
    first = [quick.submit(i) for i in range(FIRST)]
    wait(first)
    second = [behind_the_gate.submit(i, first[0]) for i in range(SECOND)]
    return last.submit(second).result()


def made(address: str, advisor: Advisor) -> Any:
    """The flow on the cluster there."""
    runner = OptimizedTaskRunner(address=address, advisor=advisor, report=False)
    return optimized_flow(task_runner=runner, name="dying")(dying)


def main() -> None:
    """Run it, planned onto one worker from the first task on."""
    address, flow_run_id = sys.argv[1:]
    advisor = Advisor()
    advisor.runs.append(None)  # type: ignore[arg-type]
    with get_client(sync_client=True) as client:
        flow_run = client.read_flow_run(UUID(flow_run_id))
    run_flow(made(address, advisor), flow_run=flow_run)
