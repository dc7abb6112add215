"""One run of one flow in a process of its own, as people start flows: `python -m ... ORDER`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

UNUSUAL = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True)
class Order:
    """What is to be run.

    Attributes:
        name: of the workload. data, trace_tasks: where it is found, as the benchmark's options.
        address: of the scheduler. store: the database of ours; None for stock prefect-dask.
    """

    name: str
    data: str | None
    trace_tasks: int
    address: str
    store: str | None


@dataclass(frozen=True)
class Ran:
    """Seconds in the flow's body, and whether its results were right."""

    seconds: float
    right: bool


def run_apart(order: Order) -> Ran:
    """The run in a new process.

    Raises:
        RuntimeError: if it fails; with the end of what it printed.
    """
    command = [sys.executable, "-m", __name__, json.dumps(asdict(order))]
    # As on machines of users, whose packages are compiled once: else each import compiles anew.
    around = {name: value for name, value in os.environ.items() if name != UNUSUAL}
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    if told.returncode:
        raise RuntimeError(f"{order.name} failed:\n{told.stderr[-1500:]}")
    return Ran(**json.loads(told.stdout.splitlines()[-1]))


def _main(order: Order) -> Ran:
    from tests.benchmarks.prefect_flows.body import Body
    from tests.benchmarks.prefect_flows.choice import chosen

    data = None if order.data is None else Path(order.data)
    options = Namespace(flows=order.name, data=data, trace_tasks=order.trace_tasks)
    body = Body(next(each for each in chosen(options) if each.name == order.name))
    _flow(order, body)()
    return Ran(body.seconds, body.is_right())


def _flow(order: Order, body: Any) -> Any:
    if order.store is None:
        from prefect import flow
        from prefect_dask import DaskTaskRunner

        runner = DaskTaskRunner(address=order.address)
        return flow(body.function(), name=order.name, task_runner=runner)
    from orchestrator_prefect import optimized_flow

    return optimized_flow(
        body.function(), name=order.name, address=order.address, store=order.store
    )


if __name__ == "__main__":
    print(json.dumps(asdict(_main(Order(**json.loads(sys.argv[1]))))))
