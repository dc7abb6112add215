"""Four one-thread worker processes of emulated speeds, on this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dask

from tests.benchmarks.live.tasks import SPEED, work

MIXED = (4.0, 2.0, 1.0, 1.0)
EQUAL = (2.0, 2.0, 2.0, 2.0)
QUIET = {
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.low-level-log-length": 0,
    "distributed.worker.memory.terminate": False,
}

WORKER = {"nthreads": 1, "silence_logs": 40, "memory_limit": "2 GiB"}


@dataclass(frozen=True)
class Running:
    """A live cluster.

    Attributes:
        client: of it. scheduler: runs in a thread of this process. sync: runs a coroutine function
            there, with arguments. processes: identifiers of the workers' processes.
    """

    client: Any
    scheduler: Any
    sync: Callable[..., Any]
    processes: tuple[int, ...]


@contextlib.contextmanager
def running(speeds: tuple[float, ...], declare: bool) -> Iterator[Running]:
    """Workers named 0, 1, ... of these speeds; with `declare` they tell the plugin."""
    from distributed import Client, Nanny, Scheduler, SpecCluster

    workers = {
        i: {"cls": Nanny, "options": {**WORKER, "env": environment(i, speeds, declare)}}
        for i in range(len(speeds))
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "port": 0, "host": "127.0.0.1"}}
    with (
        dask.config.set(QUIET),
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs=40) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        client.wait_for_workers(len(speeds))
        client.gather([client.submit(work, 0, 1, workers=[i], pure=False) for i in workers])
        processes = tuple(client.run(os.getpid).values())
        yield Running(client, cluster.scheduler, cluster.sync, processes)


def environment(worker: int, speeds: tuple[float, ...], declare: bool) -> dict[str, str]:
    """Workers of one speed are of one kind; without `declare` each kind has to be learned about."""
    found = {SPEED: str(speeds[worker]), "ORCHESTRATOR_WORKER_KIND": f"w{worker}"}
    if declare:
        found["ORCHESTRATOR_WORKER_KIND"] = f"speed-{speeds[worker]:g}"
        found["ORCHESTRATOR_WORKER_SPEED"] = str(speeds[worker])
    return found
