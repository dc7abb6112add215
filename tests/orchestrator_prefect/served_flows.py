"""Flows that a process of its own serves as deployments; their tasks run where workers are."""

from __future__ import annotations

import asyncio
import os

from prefect import Flow, flow, get_run_logger, task
from prefect.deployments.runner import EntrypointType
from prefect.flow_runs import suspend_flow_run
from prefect.runner import Runner
from prefect_dask import DaskTaskRunner

from orchestrator_prefect import optimized_flow
from tests.orchestrator_prefect.parity import gate, notes

ADDRESS = os.environ.get("SERVED_ON")
STORE = os.environ.get("SERVED_STORE")


@task(persist_result=True)
def served_add(x: int) -> int:
    notes.note(f"add {x}")
    return x + 1


@task
def served_wait() -> None:
    notes.note("waits")
    gate.wait(60.0)


def body(what: str) -> int:
    get_run_logger().info("does %s", what)
    values = [each.result() for each in [served_add.submit(i) for i in range(3)]]
    if what == "suspend":
        suspend_flow_run(key="once")
    if what == "wait":
        served_wait.submit().wait()
    if what == "fail":
        raise ValueError("as I was told")
    return served_add.submit(sum(values)).result()


@flow(task_runner=DaskTaskRunner(address=ADDRESS), name="served-theirs")
def theirs(what: str) -> int:
    return body(what)


@optimized_flow(address=ADDRESS, store=STORE, name="served-ours")
def ours(what: str) -> int:
    return body(what)


def main() -> None:
    """Each is loaded where it runs as "served", and handed over as "handed", as `serve` does."""
    runner, kind = Runner(), EntrypointType.MODULE_PATH
    for each in (theirs, ours):
        runner.add_deployment(Flow.to_deployment(each, "served", entrypoint_type=kind))
        runner.add_flow(each, name="handed", entrypoint_type=kind)
    asyncio.run(runner.start())
