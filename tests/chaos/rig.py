"""Rig: a cluster of real worker processes around a validating scheduler in this process."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler, SpecCluster
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

from tests.chaos.link import Proxy, Quality
from tests.chaos.workload import SPEED, Job, graph_of, sinks

SPEEDS = (4.0, 2.0, 1.0, 1.0)
SETTINGS = {
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.low-level-log-length": 100,
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.allowed-failures": 100,
    # A worker that is gone for a moment 15 s after it was gone before is taken for lost, and its
    # nanny closed for good (dask/distributed#8534); a story may kill one worker again and again.
    "distributed.deploy.lost-worker-timeout": "1h",
    "distributed.worker.memory.terminate": False,
    "distributed.comm.timeouts.connect": "5s",
}


class Watcher(SchedulerPlugin):  # type: ignore[misc]
    """Counts outputs, so that faults strike at a defined moment and not after a sleep."""

    name = "watcher"

    def __init__(self) -> None:
        self.finished: Counter[str] = Counter()
        self.changed = asyncio.Event()

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        if finish == "memory" and start == "processing":
            self.finished[str(key)] += 1
            self.changed.set()

    async def done(self, count: int) -> None:
        """Wait until so many tasks have had an output."""
        while sum(self.finished.values()) < count:
            self.changed.clear()
            await self.changed.wait()

    async def more(self, count: int, within: float) -> None:
        """Wait until so many more have one; at most so many seconds, where all may stand still."""
        until = sum(self.finished.values()) + count
        with suppress(TimeoutError):
            await asyncio.wait_for(self.done(until), within)


class Rig:
    """The cluster under test and the hands that break it."""

    def __init__(self, cluster: SpecCluster, client: Client, watcher: Watcher) -> None:
        self.cluster = cluster
        self.client = client
        self.watcher = watcher
        self.jobs: dict[str, Job] = {}
        self.planned: Callable[[], Counter[str]] = Counter
        self.stopped: list[int] = []

    @property
    def scheduler(self) -> Scheduler:
        return self.cluster.scheduler

    @property
    def names(self) -> list[Any]:
        return list(self.cluster.workers)

    def nanny(self, name: Any) -> Nanny:
        return self.cluster.workers[name]

    def pid(self, name: Any) -> int | None:
        """The worker's process; None while there is none.

        A nanny hears of a death a moment after it.
        """
        process = self.nanny(name).process
        pid: int | None = (
            None if process is None or process.process is None else process.process.pid
        )
        return None if pid is None or not is_there(pid) else pid

    def address(self, name: Any) -> str:
        """Where the scheduler reaches the worker now."""
        found: str = self.scheduler.aliases[name]
        return found

    def send(self, name: Any, what: signal.Signals) -> None:
        """A signal to the worker's process."""
        pid = self.pid(name)
        assert pid is not None
        if what == signal.SIGSTOP:
            self.stopped.append(pid)
        os.kill(pid, what)

    def busiest(self) -> Any:
        """The worker with most unfinished tasks: planned ones, or if none is planned, sent ones."""
        planned = self.planned()
        sent = {str(ws.name): len(ws.processing) for ws in self.scheduler.workers.values()}
        counts = planned if planned else sent
        there = [name for name in self.names if name in self.scheduler.aliases]
        return max(there, key=lambda name: (counts.get(str(name), 0), str(name)))

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that no event tells of; the test's own limit is the limit."""
        while not condition():
            await asyncio.sleep(0.01)

    async def whole(self, workers: int | None = None) -> None:
        """Wait until all workers are there and run."""
        wanted = len(self.names) if workers is None else workers
        await self.until(
            lambda: (
                sum(ws.status is Status.running for ws in self.scheduler.workers.values()) >= wanted
            )
        )

    def start(self, jobs: dict[str, Job], client: Client | None = None) -> list[Any]:
        """Futures of the jobs' last outputs."""
        self.jobs.update(jobs)
        found: list[Any] = (client or self.client).get(graph_of(jobs), sinks(jobs), sync=False)
        return found

    async def numbers(self, futures: list[Any], jobs: dict[str, Job]) -> dict[str, int]:
        """What the jobs arrived at."""
        outputs = await self.client.gather(futures)
        return {key: value for key, (value, _) in zip(sinks(jobs), outputs, strict=True)}


def is_there(pid: int) -> bool:
    """Has the process not ended?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def rig_of(
    speeds: tuple[float, ...] = SPEEDS, link: Quality | None = None, **settings: Any
) -> AsyncIterator[Rig]:
    """A running rig; `settings` are Dask's, with ``__`` for dots; `link` is between workers."""
    chosen = {**SETTINGS, **{key.replace("__", "."): value for key, value in settings.items()}}
    with dask.config.set(chosen), proxies(len(speeds), link) as between:
        for proxy in between:
            await proxy.start()
        cluster = SpecCluster(
            workers={
                i: worker_spec(speed, between[i] if between else None)
                for i, speed in enumerate(speeds)
            },
            scheduler={
                "cls": Scheduler,
                "options": {
                    "validate": True,
                    "host": "127.0.0.1",
                    "port": 0,
                    "dashboard": False,
                    "dashboard_address": "127.0.0.1:0",
                },
            },
            worker=worker_spec(1.0),
            asynchronous=True,
            silence_logs=False,
        )
        async with cluster, Client(cluster, asynchronous=True) as client:
            watcher = Watcher()
            cluster.scheduler.add_plugin(watcher)
            rig = Rig(cluster, client, watcher)
            await asyncio.wait_for(rig.whole(len(speeds)), 60)
            with continued(rig.stopped):
                yield rig


@contextmanager
def proxies(count: int, link: Quality | None) -> Iterator[list[Proxy]]:
    between = [Proxy(link, seed) for seed in range(count)] if link is not None else []
    try:
        yield between
    finally:
        for proxy in between:
            proxy.close()


def worker_spec(speed: float, proxy: Proxy | None = None) -> dict[str, Any]:
    """How a worker is made; others reach it through the proxy, if there is one."""
    options: dict[str, Any] = {
        "nthreads": 1,
        "host": "127.0.0.1",
        "memory_limit": 0,
        "dashboard": False,
        "env": {SPEED: str(speed)},
    }
    if proxy is not None:
        options["worker_port"] = proxy.target
        options["contact_address"] = f"tcp://127.0.0.1:{proxy.port}"
    return {"cls": Nanny, "options": options}


@contextmanager
def continued(stopped: list[int]) -> Iterator[None]:
    """Stopped processes cannot be closed in peace: let them go on at the end."""
    try:
        yield
    finally:
        for pid in stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                continue
